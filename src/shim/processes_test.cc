#include "fairlead/shim/processes.h"
