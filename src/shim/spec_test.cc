#include "fairlead/shim/spec.h"
