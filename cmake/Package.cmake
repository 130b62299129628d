# Packages, by CPack: packaging/make, or `cmake --build BUILD --target package` with FAIRLEAD_MAINTAINER.
#
# Two Debian packages: `fairlead` is what one machine needs, `libfairlead-dev` the headers and libraries
# that `cmake --install` gives as well. With FAIRLEAD_PORTABLE a tarball instead, to be unpacked anywhere.
#
# Files of the component `tool` are not installed by `cmake --install`.
function(fl_tool_files)
  install(${ARGN} COMPONENT tool EXCLUDE_FROM_ALL)
endfunction()

foreach(program fairlead fairlead-shim fairlead-trainer)
  if(TARGET ${program})
    fl_tool_files(TARGETS ${program} RUNTIME DESTINATION bin)
  endif()
endforeach()
fl_tool_files(FILES docs/lab-server.md docs/checkpoints.md docs/server-admin.md docs/openapi.yaml DESTINATION share/doc/fairlead)
fl_tool_files(FILES examples/progress/fairlead_progress.py examples/progress/hf_callback.py
  examples/progress/lightning_callback.py DESTINATION share/fairlead/python)
fl_tool_files(FILES python/fairlead/_checkpoint.py DESTINATION share/fairlead/python RENAME fairlead_checkpoint.py)

fl_tool_files(PROGRAMS packaging/notify-mail packaging/notify-webhook DESTINATION share/fairlead)

# What the program says about itself, once it is built.
function(fl_tool_output destination)
  list(JOIN ARGN " " words)
  get_filename_component(folder "${destination}" DIRECTORY)
  fl_tool_files(CODE "
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(MAKE_DIRECTORY \"\${to}/${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:fairlead>\" ${words} OUTPUT_FILE \"\${to}/${destination}\"
      COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

fl_tool_output(share/bash-completion/completions/fairlead completion bash)
fl_tool_output(share/zsh/vendor-completions/_fairlead completion zsh)
fl_tool_output(share/fish/vendor_completions.d/fairlead.fish completion fish)
fl_tool_files(CODE "
  set(pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\")
  execute_process(COMMAND \"$<TARGET_FILE:fairlead>\" man --out \"\${pages}\" COMMAND_ERROR_IS_FATAL ANY)
  file(COPY \"${PROJECT_SOURCE_DIR}/packaging/fairlead-shim.1\" \"${PROJECT_SOURCE_DIR}/packaging/fairlead-trainer.1\"
    DESTINATION \"\${pages}\")
  file(GLOB pages \"\${pages}/*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)")

set(CPACK_PACKAGE_NAME fairlead)
set(FAIRLEAD_MAINTAINER "" CACHE STRING "Name and address in Debian packages (packaging/make)")
set(CPACK_PACKAGE_CONTACT "${FAIRLEAD_MAINTAINER}")
set(CPACK_STRIP_FILES ON)

if(FAIRLEAD_PORTABLE)
  if(FAIRLEAD_GLIBC)
    foreach(program fairlead fairlead-trainer old_glibc_test)  # fairlead-shim is static
      target_link_libraries(${program} PRIVATE old_glibc)
    endforeach()
  endif()
  # Of what is inside: those packages of Debian that it was taken from say whose it is.
  set(inside coinor-libclp-dev coinor-libcoinutils-dev libblas-dev libbz2-dev libcli11-dev libexpected-dev libfmt-dev
    libgfortran-12-dev libhttp-parser-dev liblapack-dev libstdc++-12-dev libyaml-cpp-dev libzstd-dev nlohmann-json3-dev
    zlib1g-dev)
  fl_tool_files(FILES LICENSE packaging/copyright DESTINATION share/doc/fairlead)
  foreach(package IN LISTS inside)
    fl_tool_files(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/fairlead/inside RENAME ${package})
  endforeach()
  set(CPACK_GENERATOR TGZ)
  set(CPACK_COMPONENTS_ALL tool)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_PACKAGE_FILE_NAME fairlead-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  include(CPack)
  return()
endif()

fl_tool_files(FILES packaging/fairlead.service DESTINATION lib/systemd/system)
fl_tool_files(FILES packaging/lintian-overrides DESTINATION share/lintian/overrides RENAME fairlead)

# What each Debian package says of itself.
configure_file(packaging/changelog changelog @ONLY)
function(fl_debian_documents component package)
  install(FILES packaging/copyright DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(CODE "
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/${package}\")
    file(MAKE_DIRECTORY \"\${to}\")
    execute_process(COMMAND gzip -9nc \"${PROJECT_BINARY_DIR}/changelog\" OUTPUT_FILE \"\${to}/changelog.gz\"
      COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
fl_debian_documents(tool fairlead)
fl_debian_documents(library libfairlead-dev)

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL tool library)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "scheduler for shared, heterogeneous GPU clusters")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME fairlead)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOL_DESCRIPTION "Users hand in jobs; a policy decides which of them have which GPUs, and when
they take turns. It simulates and compares policies, too.")
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS passwd)  # groupadd
set(CPACK_DEBIAN_TOOL_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/postinst
  ${PROJECT_SOURCE_DIR}/packaging/prerm ${PROJECT_SOURCE_DIR}/packaging/postrm)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libfairlead-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "Headers, static libraries and CMake files for programs that simulate
schedules, or have policies of their own.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libfmt-dev, libexpected-dev, nlohmann-json3-dev, libyaml-cpp-dev, \
zlib1g-dev, libzstd-dev, coinor-libclp-dev, pkg-config")
include(CPack)
