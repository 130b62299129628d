# The build goes on without the report page, and the reason is in the source that it writes: what npm said,
# that Node.js is missing, or that the page was not wanted.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/web")
file(WRITE "${WORK}/web/package-lock.json" "{}")
file(WRITE "${WORK}/npm" "#!/bin/sh\necho 'npm error network: no route to the registry' >&2\nexit 7\n")
file(CHMOD "${WORK}/npm" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

# build(MODE): runs the build's script with an npm that fails.
function(build mode)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -DWEB=${WORK}/web -DNPM=${WORK}/npm -DMODE=${mode} -DLOCK=${WORK}/lock
            -DOUTDIR=${WORK}/out -DSOURCE=${WORK}/page.cc -DSTAMP=${WORK}/stamp
            -P "${ROOT}/cmake/BuildReportPage.cmake"
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  set(status "${status}" PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

# expect_in(TEXT WANTED): TEXT contains WANTED.
function(expect_in text wanted)
  string(FIND "${text}" "${wanted}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "\"${wanted}\" is not in:\n${text}")
  endif()
endfunction()

build(AUTO)
if(NOT status EQUAL 0)
  message(SEND_ERROR "without a page the build fails: ${said}")
endif()
expect_in("${said}" "Building without the report page")
file(READ "${WORK}/page.cc" source)
expect_in("${source}" "{\"missing\", R\"embedded(`npm ci` failed when it was built:")
expect_in("${source}" "npm error network: no route to the registry")
if(EXISTS "${WORK}/stamp")
  message(SEND_ERROR "the next build would not try again")
endif()

build(ON)
if(status EQUAL 0)
  message(SEND_ERROR "a build that must have the page goes on without it")
endif()
expect_in("${said}" "npm error network: no route to the registry")

include("${ROOT}/cmake/ReportPage.cmake")
# expect_why(WANTED MODE NODE NPM): the reason of a configuration with these.
function(expect_why wanted FAIRLEAD_REPORT FAIRLEAD_NODE FAIRLEAD_NPM)
  fl_why_no_page(why)
  if(NOT why STREQUAL wanted)
    message(SEND_ERROR "${FAIRLEAD_REPORT}, ${FAIRLEAD_NODE}, ${FAIRLEAD_NPM}: \"${why}\"")
  endif()
endfunction()

set(missing "Node.js 18 or newer and npm were missing when it was built")
expect_why("it was built with FAIRLEAD_REPORT=OFF" OFF /usr/bin/node /usr/bin/npm)
expect_why("${missing}" AUTO FAIRLEAD_NODE-NOTFOUND /usr/bin/npm)
expect_why("${missing}" AUTO /usr/bin/node FAIRLEAD_NPM-NOTFOUND)
expect_why("" AUTO /usr/bin/node /usr/bin/npm)
expect_why("" ON /usr/bin/node /usr/bin/npm)
