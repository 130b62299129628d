# The page of `fairlead report`: built from web/ by Node.js, where there is one, and embedded.
#
# FAIRLEAD_REPORT says whether: AUTO where it can be built, ON always, OFF never. Without the
# page the program has everything else.

# fl_why_no_page(OUT)
# Sets OUT to the reason why no page is to be built; to nothing if one is.
function(fl_why_no_page out)
  set(why "")
  if(FAIRLEAD_REPORT STREQUAL "OFF")
    set(why "it was built with FAIRLEAD_REPORT=OFF")
  elseif(NOT (FAIRLEAD_NODE AND FAIRLEAD_NPM))
    set(why "Node.js 18 or newer and npm were missing when it was built")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# fl_report_page(OUT)
# Sets OUT to a C++ source that defines embedded_report_page(), which gives the page, called "report", or
# why there is none, called "missing" (cmake/Embed.cmake).
function(fl_report_page out)
  set(path "${CMAKE_CURRENT_BINARY_DIR}/embedded_report_page.cc")
  set(${out} "${path}" PARENT_SCOPE)
  # Clang notes that compilers need not take texts of this length; those we use do.
  set_source_files_properties("${path}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  find_program(FAIRLEAD_NODE node)
  find_program(FAIRLEAD_NPM npm)
  if(FAIRLEAD_REPORT STREQUAL "ON" AND NOT (FAIRLEAD_NODE AND FAIRLEAD_NPM))
    message(FATAL_ERROR "FAIRLEAD_REPORT=ON needs node and npm")
  endif()
  fl_why_no_page(why)
  if(why)
    fl_write_no_page("${path}" "${why}")
    return()
  endif()

  set(web "${PROJECT_SOURCE_DIR}/web")
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/report_page.stamp")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*" "${web}/tools/*.mjs")
  add_custom_command(
    # The stamp is written only if there is a page; without it the next build tries again.
    OUTPUT "${path}" "${stamp}"
    COMMAND "${CMAKE_COMMAND}" -DWEB=${web} -DNPM=${FAIRLEAD_NPM} -DMODE=${FAIRLEAD_REPORT}
            -DLOCK=${PROJECT_SOURCE_DIR}/.cache/npm.lock -DOUTDIR=${PROJECT_BINARY_DIR}/web
            -DSOURCE=${path} -DSTAMP=${stamp} -P "${PROJECT_SOURCE_DIR}/cmake/BuildReportPage.cmake"
    DEPENDS ${sources} "${web}/package.json" "${web}/package-lock.json" "${web}/tsconfig.json"
            "${PROJECT_SOURCE_DIR}/cmake/BuildReportPage.cmake"
    COMMENT "Building the report page"
    VERBATIM)
endfunction()
