# Run by the build (cmake/ReportPage.cmake): installs what web/ needs if package-lock.json changed,
# builds the page into OUTDIR, and writes SOURCE with its text, then STAMP; or SOURCE with the reason why
# there is none.

include("${CMAKE_CURRENT_LIST_DIR}/Embed.cmake")

# Runs npm in WEB. Where that fails, a build that must have the page ends; another goes without.
macro(run_npm)
  execute_process(COMMAND "${NPM}" ${ARGN}
    WORKING_DIRECTORY "${WEB}" RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT status EQUAL 0)
    if(MODE STREQUAL "ON")
      message(FATAL_ERROR "npm ${ARGV0} failed in ${WEB}:\n${log}")
    endif()
    message(WARNING "Building without the report page, because npm ${ARGV0} failed:\n${log}")
    string(STRIP "${log}" log)
    fl_write_no_page("${SOURCE}" "`npm ${ARGV0}` failed when it was built:\n${log}")
    return()
  endif()
endmacro()

# Several build folders share web/node_modules.
get_filename_component(lock_folder "${LOCK}" DIRECTORY)
file(MAKE_DIRECTORY "${lock_folder}")
file(LOCK "${LOCK}" GUARD PROCESS)
set(installed "${WEB}/node_modules/.package-lock.json")  # npm writes it last
if(NOT EXISTS "${installed}" OR NOT "${installed}" IS_NEWER_THAN "${WEB}/package-lock.json")
  run_npm(ci --no-audit --no-fund)
endif()
run_npm(run --silent build -- --outdir "${OUTDIR}")
fl_write_embedded("${SOURCE}" embedded_report_page "${OUTDIR}/report.html")
file(TOUCH "${SOURCE}" "${STAMP}")
