# Precompiled headers: headers of other libraries that most sources include, parsed once per build.
#
# The project's own headers stay out, because a change of one would compile everything again. clang-tidy and the
# Clang build of ./dev soak do without, so each source still includes what it uses.
#
# A set of headers belongs to a target, its owner. The owner and its users share their flags, so libraries and
# programs have owners of their own: their code is position-independent in two ways.

set(FL_STANDARD_HEADERS
  <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <span> <string> <string_view>
  <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Without times in them, they are the same bytes in each build, as ccache needs.
  target_compile_options(fl_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# fl_precompile(TARGET [COLD])
# Gives the target the headers above; also nlohmann/json and CLI11 if it links them, and GoogleTest if it is a program.
# COLD: the target's own speed matters little, so the sanitizer build compiles it unoptimised. Programs are cold: their
# hot code is in the libraries.
# The exception is a program with the API server in memory. It spends its time in templates for JSON, which the linker
# takes from the program first.
function(fl_precompile target)
  cmake_parse_arguments(arg "COLD" "" "" ${ARGN})
  get_target_property(type ${target} TYPE)
  get_target_property(links ${target} LINK_LIBRARIES)
  set(owner fl_headers)
  set(headers ${FL_STANDARD_HEADERS})
  set(libraries fmt::fmt tl::expected)
  if("nlohmann_json::nlohmann_json" IN_LIST links)
    string(APPEND owner _json)
    list(APPEND headers <nlohmann/json.hpp>)
    list(APPEND libraries nlohmann_json::nlohmann_json)
  endif()
  if("CLI11::CLI11" IN_LIST links)
    string(APPEND owner _cli)
    list(APPEND headers <CLI/CLI.hpp>)
    list(APPEND libraries CLI11::CLI11)
  endif()
  if(type STREQUAL "EXECUTABLE")
    string(APPEND owner _tests)
    list(APPEND headers <gtest/gtest.h>)
    list(APPEND libraries GTest::gtest)
    if("fl_fake_kube" IN_LIST links)
      string(APPEND owner _hot)
    else()
      set(arg_COLD TRUE)
    endif()
  elseif(arg_COLD)
    string(APPEND owner _cold)
  endif()
  set(flags "")
  if(arg_COLD AND FAIRLEAD_SANITIZE)
    set(flags -O0)
  endif()
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    if(type STREQUAL "EXECUTABLE")
      add_executable(${owner} ${source})
    else()
      add_library(${owner} OBJECT ${source})
    endif()
    target_link_libraries(${owner} PRIVATE fl_flags ${libraries})
    target_compile_options(${owner} PRIVATE ${flags})
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_compile_options(${target} PRIVATE ${flags})
  target_precompile_headers(${target} REUSE_FROM ${owner})
  # A target that does not link fmt has the macros of its headers as well.
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()
