# How this project declares its modules and tests.

# Warnings and flags of every target of ours. -ffp-contract=off keeps scores equal on every compiler.
add_library(fl_flags INTERFACE)
target_compile_options(fl_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -ffp-contract=off
  # Designated initialisers name what differs from the defaults; the rest is meant to be left out.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlapping copies inside std::string where there are none (GCC bug 105651).
  target_compile_options(fl_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # An empty __VA_ARGS__ is C++20; Clang 14 still warns.
  target_compile_options(fl_flags INTERFACE -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(FAIRLEAD_DCHECKS)
  target_compile_definitions(fl_flags INTERFACE FAIRLEAD_DCHECKS)
endif()
if(FAIRLEAD_SANITIZE)
  target_compile_options(fl_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(fl_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(fl_flags INTERFACE FAIRLEAD_SANITIZE)
endif()

# fl_module(NAME SOURCES a.cc ... LINKS fl_base ... [TESTS a_test.cc ...] [TEST_LINKS ...])
# A static library fl_NAME of fairlead/NAME, whose headers are included as "fairlead/NAME/x.h". Only those
# who link it, or a module that does, find them: LINKS are PUBLIC, and they are the include edges that
# docs/architecture.md draws. TESTS become one GoogleTest program.
function(fl_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS;TESTS;TEST_LINKS" ${ARGN})
  add_library(fl_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fl_${name} PUBLIC $<BUILD_INTERFACE:fl_flags> ${arg_LINKS}
    PRIVATE ${arg_PRIVATE_LINKS})
  set_target_properties(fl_${name} PROPERTIES OUTPUT_NAME fairlead_${name} EXPORT_NAME ${name})
  set(include ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${include}/fairlead)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include}/fairlead/${name} SYMBOLIC)
  target_include_directories(fl_${name} PUBLIC
    $<BUILD_INTERFACE:${include}> $<INSTALL_INTERFACE:include>)
  if(arg_TESTS AND FAIRLEAD_TESTS)
    fl_test(${name}_test SOURCES ${arg_TESTS} LINKS fl_${name} ${arg_TEST_LINKS})
  endif()
endfunction()

# fl_test(NAME SOURCES ... LINKS ... [LABELS ...])
function(fl_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} fl_flags GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "RC_PARAMS=seed=1")  # RapidCheck would draw a new seed each time
endfunction()
