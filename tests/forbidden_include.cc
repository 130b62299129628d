// Must not compile: a policy cannot see the simulated world (tests/CMakeLists.txt).
#include "fairlead/sim/costs.h"
