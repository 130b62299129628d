# How this project declares its modules and tests.

# Warnings and flags of every target of ours. -ffp-contract=off keeps scores equal on every compiler.
add_library(fl_flags INTERFACE)
target_compile_options(fl_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -ffp-contract=off
  # Designated initialisers name what differs from the defaults; the rest is meant to be left out.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlapping copies inside std::string where there are none (GCC bug 105651), and of overflows if
  # std::string comes from a precompiled header.
  target_compile_options(fl_flags INTERFACE -Wno-restrict $<$<CONFIG:Release>:-Wno-array-bounds> $<$<CONFIG:Release>:-Wno-stringop-overflow>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # An empty __VA_ARGS__ is C++20; Clang 14 still warns.
  target_compile_options(fl_flags INTERFACE -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(FAIRLEAD_DCHECKS)
  # With the checks of the standard library: of the bounds of a vector, for example.
  target_compile_definitions(fl_flags INTERFACE FAIRLEAD_DCHECKS _GLIBCXX_ASSERTIONS)
endif()
if(FAIRLEAD_SANITIZE)
  target_compile_options(fl_flags INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(fl_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(fl_flags INTERFACE FAIRLEAD_SANITIZE)
endif()
if(FAIRLEAD_FUZZ)
  target_compile_options(fl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

include(Batches)
include(Precompiled)

# fl_module(NAME SOURCES a.cc ... LINKS fl_base ... [TESTS a_test.cc ...] [TEST_LINKS ...])
# A static library fl_NAME of fairlead/NAME, whose headers are included as "fairlead/NAME/x.h". Only those
# who link it, or a module that does, find them: LINKS are PUBLIC, and they are the include edges that
# docs/architecture.md draws. SOURCES are compiled in batches, except those with options of their own, which are set
# before this. ALONE: each is compiled alone, because their headers and sources share names. TESTS become one GoogleTest
# program. COLD: as in fl_precompile.
function(fl_module name)
  cmake_parse_arguments(arg "COLD;ALONE" "" "SOURCES;LINKS;PRIVATE_LINKS;TESTS;TEST_LINKS" ${ARGN})
  set(sources ${arg_SOURCES})
  if(NOT arg_ALONE)
    fl_library_batches(sources fl_${name} ${arg_SOURCES})
  endif()
  add_library(fl_${name} STATIC ${sources})
  target_link_libraries(fl_${name} PUBLIC $<BUILD_INTERFACE:fl_flags> ${arg_LINKS}
    PRIVATE ${arg_PRIVATE_LINKS})
  set_target_properties(fl_${name} PROPERTIES OUTPUT_NAME fairlead_${name} EXPORT_NAME ${name})
  if(arg_COLD)
    set(cold COLD)
  endif()
  fl_precompile(fl_${name} ${cold})
  set(include ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${include}/fairlead)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include}/fairlead/${name} SYMBOLIC)
  target_include_directories(fl_${name} PUBLIC
    $<BUILD_INTERFACE:${include}> $<INSTALL_INTERFACE:include>)
  if(arg_TESTS AND FAIRLEAD_TESTS)
    if("nlohmann_json::nlohmann_json" IN_LIST arg_LINKS OR "nlohmann_json::nlohmann_json" IN_LIST arg_PRIVATE_LINKS)
      list(APPEND arg_TEST_LINKS nlohmann_json::nlohmann_json)  # so that they share its precompiled header
    endif()
    fl_test(${name}_test SOURCES ${arg_TESTS} LINKS fl_${name} ${arg_TEST_LINKS})
  endif()
endfunction()

# fl_label(TEST PROGRAM LABELS ...)
# Labels a test of a program; ./dev check LABEL builds and runs the tests of a label.
function(fl_label test program)
  cmake_parse_arguments(arg "" "" "LABELS" ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}")
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET check_${label})
      add_custom_target(check_${label})
    endif()
    add_dependencies(check_${label} ${program})
  endforeach()
endfunction()

# fl_test(NAME SOURCES ... LINKS ... [LABELS ...] [WHOLE_RUNS])
# A GoogleTest program. Its labels are those given and the name of its folder. WHOLE_RUNS: it judges results of whole
# runs. The other tests run the same code, so ./dev sanitize leaves this one to ./dev soak.
function(fl_test name)
  cmake_parse_arguments(arg "WHOLE_RUNS" "" "SOURCES;LINKS;LABELS" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(labels ${folder} ${arg_LABELS})
  if(arg_WHOLE_RUNS)
    list(APPEND labels whole_runs)
  endif()
  fl_batches(sources ${name} ${arg_SOURCES})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})  # of a batch, which is elsewhere
  target_link_libraries(${name} PRIVATE ${arg_LINKS} fl_flags GTest::gtest_main)
  fl_precompile(${name})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False warnings, as above.
    target_compile_options(${name} PRIVATE -Wno-array-bounds)
  endif()
  if(arg_WHOLE_RUNS AND FAIRLEAD_SANITIZE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  fl_label(${name} ${name} LABELS ${labels})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "RC_PARAMS=seed=1")  # RapidCheck would draw a new seed each time
endfunction()
