# Programs that need no shared library except glibc's. They run on each Linux whose glibc is at least as new as the one
# in FAIRLEAD_GLIBC. Without that variable it is the glibc of the system that builds them. libcurl is not inside, because
# Debian has no static one with all that it needs. Only the commands that talk to an API server need it, and look for it
# then (fairlead/kube/curl_at_need.cc).
#
# To be included before libraries are found, of which it has static ones found only.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(pkgcfg_lib_CLP_m m CACHE STRING "glibc's own")
add_link_options(-static-libstdc++ -static-libgcc)

# Debian has {fmt} as a shared library only.
set_target_properties(fmt_static PROPERTIES OUTPUT_NAME fmt ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
get_target_property(configurations fmt::fmt IMPORTED_CONFIGURATIONS)
foreach(configuration IN LISTS configurations)
  set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION_${configuration} ${PROJECT_BINARY_DIR}/libfmt.a)
endforeach()
add_dependencies(fmt::fmt fmt_static)

# The package of yaml-cpp knows the shared library only.
find_library(YAML_CPP_LIBRARY yaml-cpp REQUIRED)
find_path(YAML_CPP_INCLUDE yaml-cpp/yaml.h REQUIRED)
add_library(yaml-cpp STATIC IMPORTED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${YAML_CPP_INCLUDE})

# LAPACK, which Clp needs, is Fortran. These lie with the compiler.
foreach(name gfortran quadmath)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE path
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "lib${name}.a is missing (Debian: apt install libgfortran-12-dev)")
  endif()
  list(APPEND FAIRLEAD_FORTRAN "${path}")
endforeach()

# Programs that link old_glibc use the glibc in FAIRLEAD_GLIBC. They are still compiled with the headers of the system, as the
# static libraries are. A function that the old glibc lacks is in old_glibc.cc, or the linker names it.
set(FAIRLEAD_GLIBC "" CACHE PATH "Folder with the unpacked packages libc6 and libc6-dev to link with (packaging/make)")
set(libraries ${FAIRLEAD_GLIBC}/usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE})
target_link_options(old_glibc INTERFACE --sysroot=${FAIRLEAD_GLIBC} -B${libraries} -L${libraries} -pthread)
