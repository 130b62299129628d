# Installs what was built into BUILD/installed and builds and runs examples/own_policy against it, as a
# project of its own would (tests/CMakeLists.txt).
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${BUILD}/installed" "${BUILD}/own_policy")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${BUILD}/installed")
run("${CMAKE_COMMAND}" -S "${SOURCE}/examples/own_policy" -B "${BUILD}/own_policy" -G Ninja
  "-DCMAKE_PREFIX_PATH=${BUILD}/installed" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${BUILD}/own_policy")
run("${BUILD}/own_policy/smallest_gang")
if(NOT output MATCHES "fifo +mean JCT.*smallest-gang +mean JCT")
  message(FATAL_ERROR "own_policy printed: ${output}")
endif()
