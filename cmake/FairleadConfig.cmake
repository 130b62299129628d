# find_package(Fairlead): the library Fairlead::fairlead, whose headers are <fairlead/MODULE/x.h>;
# <fairlead/run/simulation.h> is where to begin.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(tl-expected)
find_dependency(nlohmann_json)
find_dependency(yaml-cpp)
find_dependency(ZLIB)
find_dependency(PkgConfig)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(CLP REQUIRED IMPORTED_TARGET clp)
include("${CMAKE_CURRENT_LIST_DIR}/FairleadTargets.cmake")
