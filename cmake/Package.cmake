# The Debian package: `cmake --build BUILD --target package`, or ./dev package.
#
# It has what one machine needs, and no headers or libraries, which `cmake --install` gives. So its files
# are a component of their own, which that leaves out.
function(fl_package_files)
  install(${ARGN} COMPONENT package EXCLUDE_FROM_ALL)
endfunction()

foreach(program fairlead fairlead-shim fairlead-trainer)
  if(TARGET ${program})
    fl_package_files(TARGETS ${program} RUNTIME DESTINATION bin)
  endif()
endforeach()
fl_package_files(FILES packaging/fairlead.service DESTINATION lib/systemd/system)
fl_package_files(FILES packaging/copyright docs/lab-server.md docs/openapi.yaml DESTINATION share/doc/fairlead)
fl_package_files(FILES examples/progress/fairlead_progress.py examples/progress/hf_callback.py
  examples/progress/lightning_callback.py DESTINATION share/fairlead/python)

# What the program says about itself, once it is built.
function(fl_package_output destination)
  list(JOIN ARGN " " words)
  get_filename_component(folder "${destination}" DIRECTORY)
  fl_package_files(CODE "
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(MAKE_DIRECTORY \"\${to}/${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:fairlead>\" ${words} OUTPUT_FILE \"\${to}/${destination}\"
      COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

fl_package_output(share/bash-completion/completions/fairlead completion bash)
fl_package_output(share/zsh/vendor-completions/_fairlead completion zsh)
fl_package_output(share/fish/vendor_completions.d/fairlead.fish completion fish)
fl_package_files(CODE "
  execute_process(COMMAND \"$<TARGET_FILE:fairlead>\" man --out
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\" COMMAND_ERROR_IS_FATAL ANY)")

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL package)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME fairlead)
set(CPACK_PACKAGE_CONTACT "The Fairlead authors <fairlead@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION  # below the project's own
  "Users hand in jobs; a policy decides which of them hold which GPUs, and when
they take turns. It simulates and compares policies, too.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)  # groupadd
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/postinst
  ${PROJECT_SOURCE_DIR}/packaging/prerm ${PROJECT_SOURCE_DIR}/packaging/postrm)
include(CPack)
