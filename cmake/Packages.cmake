# Packages rdma-hook, rdma-perf and rdma-perf-report: cmake --build build/release --target package. They are Debian's on Debian and
# Ubuntu, else RPM's; `cpack -G RPM` makes those anywhere. Debian's source package makes the same (packaging/debian/rules).
#
# Files are installed by component: hook, perf and perf-report. hook_deb and hook_rpm and so on have what only a package of that kind
# has, and are left out of `cmake --install`. The prefix must be /usr, as in the preset release.
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packaging}/project.json)
file(READ ${packaging}/project.json project)
string(JSON maintainer GET "${project}" maintainer)
string(JSON CPACK_PACKAGE_HOMEPAGE_URL GET "${project}" repository)
set(RDMA_MAINTAINER "${maintainer}" CACHE STRING "Maintainer of the packages: a name and an address that answers")
set(RDMA_PACKAGE_REVISION 1 CACHE STRING "Revision of the packages")
set(RDMA_DEB_VERSION ${PROJECT_VERSION}-${RDMA_PACKAGE_REVISION})

# SOURCE_DATE_EPOCH, if it is set: packaging/release does.
string(TIMESTAMP RDMA_DEB_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${packaging}/debian/changelog.in packaging/changelog @ONLY)
rdma_gzip(${PROJECT_BINARY_DIR}/packaging/changelog changelog.Debian changelog_debian)
rdma_gzip(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog changelog)
foreach(part hook perf perf-report)
  install(FILES ${changelog_debian} ${changelog} ${packaging}/debian/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rdma-${part} COMPONENT ${part}_deb EXCLUDE_FROM_ALL)
  install(FILES ${packaging}/debian/rdma-${part}.lintian-overrides
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME rdma-${part} COMPONENT ${part}_deb EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${packaging}/debian/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/rdma-${part} COMPONENT ${part}_rpm EXCLUDE_FROM_ALL)
  string(TOUPPER ${part} name)
  set(RDMA_NOTICES_${name} LICENSE copyright)
  foreach(kind "" _DEB _RPM)
    set(CPACK_COMPONENT_${name}${kind}_GROUP ${part})
  endforeach()
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME rdma-${part})
  set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
  set(CPACK_RPM_${name}_PACKAGE_NAME rdma-${part})
endforeach()
# Of the libraries in the static programs; Debian has it in /usr/share/common-licenses.
install(FILES ${packaging}/LGPL-2.1 DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/rdma-hook COMPONENT hook_rpm EXCLUDE_FROM_ALL)
list(APPEND RDMA_NOTICES_HOOK LGPL-2.1)

# Under the name that debhelper would choose.
if(RDMA_MKDOCS)
  install(FILES ${packaging}/debian/rdma-hook.doc-base DESTINATION ${CMAKE_INSTALL_DATADIR}/doc-base RENAME rdma-hook.rdma-hook
    COMPONENT hook_deb EXCLUDE_FROM_ALL)
endif()

set(CPACK_GENERATOR RPM)
if(EXISTS /etc/debian_version)
  set(CPACK_GENERATOR DEB)
endif()
set(RDMA_PACKAGES hook)
if(TARGET rdma-perf)
  list(APPEND RDMA_PACKAGES perf perf-report)
endif()
# By kind of package: each has components of its own.
configure_file(${packaging}/cpack.cmake.in packaging/cpack.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/modes.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/packaging/cpack.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
# The drop-in for Podman goes to /etc and not below the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_CONTACT ${RDMA_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${RDMA_PACKAGE_REVISION})
set(CPACK_DEBIAN_PACKAGE_SOURCE rdma-hook)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Of the programs that are linked dynamically.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# By the names that dpkg has for them.
set(scripts)
foreach(script preinst postinst prerm postrm)
  configure_file(${packaging}/debian/rdma-hook.${script} packaging/${script} COPYONLY)
  list(APPEND scripts ${PROJECT_BINARY_DIR}/packaging/${script})
endforeach()
set(RDMA_CONFFILE /etc/containers/containers.conf.d/50-rdma-hook.conf)
file(WRITE ${PROJECT_BINARY_DIR}/packaging/conffiles "${RDMA_CONFFILE}\n")
set(CPACK_DEBIAN_HOOK_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packaging/conffiles ${scripts})

# The fields of each package are those of Debian's source package. RPM's summaries begin with a capital.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packaging}/debian/control.in)
file(READ ${packaging}/debian/control.in control)
string(REGEX REPLACE "\n#[^\n]*" "" control "${control}")
string(REGEX MATCH "\nSection: ([^\n]+)" _ "${control}")
set(CPACK_DEBIAN_PACKAGE_SECTION ${CMAKE_MATCH_1}) # of a package without its own
foreach(part ${RDMA_PACKAGES})
  string(TOUPPER ${part} name)
  string(REGEX REPLACE "^.*\nPackage: rdma-${part}\n" "\n" fields "${control}")
  string(REGEX REPLACE "\n\n.*" "\n" fields "${fields}")
  foreach(field Section Depends Recommends Suggests Enhances)
    if(fields MATCHES "\n${field}: ([^\n]+)")
      # Without debhelper's variables: CPack calls dpkg-shlibdeps by itself.
      string(REGEX REPLACE "(, )?\\\${[^}]+}" "" value "${CMAKE_MATCH_1}")
      string(TOUPPER ${field} field)
      set(CPACK_DEBIAN_${name}_PACKAGE_${field} "${value}")
    endif()
  endforeach()
  if(fields MATCHES "\nArchitecture: all\n")
    set(CPACK_DEBIAN_${name}_PACKAGE_ARCHITECTURE all)
    set(CPACK_DEBIAN_${name}_PACKAGE_SHLIBDEPS OFF)
  endif()
  string(REGEX MATCH "\nDescription: (.)([^\n]+)(\n.*)" _ "${fields}")
  string(TOUPPER ${CMAKE_MATCH_1} first)
  set(CPACK_RPM_${name}_PACKAGE_SUMMARY "${first}${CMAKE_MATCH_2}")
  set(summary "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
  string(REGEX REPLACE "\n \\.?" "\n" text "${CMAKE_MATCH_3}")
  string(STRIP "${text}" CPACK_RPM_${name}_PACKAGE_DESCRIPTION)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${CPACK_RPM_${name}_PACKAGE_DESCRIPTION}")
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/Rpm.cmake)
include(CPack)
