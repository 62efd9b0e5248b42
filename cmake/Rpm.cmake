# What RPM packages have of their own, for Fedora and RHEL. Included by Packages.cmake.
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE ${RDMA_PACKAGE_REVISION})
set(CPACK_RPM_PACKAGE_GROUP Unspecified)
set(CPACK_RPM_PACKAGE_VENDOR ${RDMA_MAINTAINER})
set(CPACK_RPM_COMPRESSION_TYPE gzip)
# Programs are stripped and pages compressed before.
set(CPACK_RPM_SPEC_INSTALL_POST /bin/true)
# Interpreters of examples are no requirement.
set(CPACK_RPM_REQUIRES_EXCLUDE_FROM "^${CMAKE_INSTALL_FULL_DATADIR}/doc/.*$")
string(TIMESTAMP RDMA_RPM_DATE "%a %b %d %Y" UTC)
configure_file(${packaging}/rpm/changelog.in packaging/rpm/changelog @ONLY)
set(CPACK_RPM_CHANGELOG_FILE ${PROJECT_BINARY_DIR}/packaging/rpm/changelog)
# Folders that other packages have.
foreach(folder bash-completion bash-completion/completions fish fish/vendor_completions.d licenses zsh zsh/site-functions)
  list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION ${CMAKE_INSTALL_FULL_DATADIR}/${folder})
endforeach()
foreach(section 1 5 7 8)
  list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION ${CMAKE_INSTALL_FULL_MANDIR}/man${section})
endforeach()
list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION ${CMAKE_INSTALL_FULL_MANDIR} /usr/lib/systemd /usr/lib/systemd/network
  /usr/lib/systemd/system /usr/lib/systemd/system-preset /usr/lib/udev /usr/lib/udev/rules.d /etc/containers /etc/containers/containers.conf.d)
foreach(part ${RDMA_PACKAGES})
  string(TOUPPER ${part} name)
  foreach(file ${RDMA_NOTICES_${name}})
    list(APPEND CPACK_RPM_${name}_USER_FILELIST "%license ${CMAKE_INSTALL_FULL_DATADIR}/licenses/rdma-${part}/${file}")
  endforeach()
endforeach()
list(APPEND CPACK_RPM_HOOK_USER_FILELIST "%config(noreplace) ${RDMA_CONFFILE}")

# Debian's scripts of before an installation, and of before and after a removal, called as dpkg calls them.
set(rpm_scripts pre preun postun)
set(debian_scripts preinst prerm postrm)
foreach(script debian IN ZIP_LISTS rpm_scripts debian_scripts)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packaging}/debian/rdma-hook.${debian})
  file(READ ${packaging}/debian/rdma-hook.${debian} body)
  configure_file(${packaging}/rpm/${script}.in packaging/rpm/${script} @ONLY)
endforeach()
set(CPACK_RPM_HOOK_PRE_INSTALL_SCRIPT_FILE ${PROJECT_BINARY_DIR}/packaging/rpm/pre)
set(CPACK_RPM_HOOK_POST_INSTALL_SCRIPT_FILE ${packaging}/rpm/post)
set(CPACK_RPM_HOOK_PRE_UNINSTALL_SCRIPT_FILE ${PROJECT_BINARY_DIR}/packaging/rpm/preun)
set(CPACK_RPM_HOOK_POST_UNINSTALL_SCRIPT_FILE ${PROJECT_BINARY_DIR}/packaging/rpm/postun)
install(FILES ${packaging}/rpm/80-rdma-hook.preset DESTINATION lib/systemd/system-preset COMPONENT hook_rpm EXCLUDE_FROM_ALL)
# cpack renames the folder of zsh's functions where CMake ran on Debian.
list(APPEND CPACK_PRE_BUILD_SCRIPTS ${packaging}/rpm/zsh.cmake)

set(CPACK_RPM_PERF-REPORT_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_PERF-REPORT_PACKAGE_REQUIRES "python3 >= 3.11, python3-jinja2, python3-matplotlib")
