#include "fairlead/shim/files.h"
