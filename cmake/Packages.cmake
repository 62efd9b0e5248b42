# Packages rdma-hook, rdma-perf and rdma-perf-report: cmake --build build/release --target package. They are Debian's where there is a
# dpkg, else RPM's; `cpack -G RPM` makes those anywhere.
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
configure_file(${packaging}/changelog.in packaging/changelog @ONLY)
rdma_gzip(${PROJECT_BINARY_DIR}/packaging/changelog changelog.Debian changelog_debian)
rdma_gzip(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog changelog)
foreach(part hook perf perf-report)
  install(FILES ${changelog_debian} ${changelog} ${packaging}/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rdma-${part} COMPONENT ${part}_deb EXCLUDE_FROM_ALL)
  install(FILES ${packaging}/rdma-${part}/lintian-overrides
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME rdma-${part} COMPONENT ${part}_deb EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/rdma-${part} COMPONENT ${part}_rpm EXCLUDE_FROM_ALL)
  string(TOUPPER ${part} name)
  foreach(kind "" _DEB _RPM)
    set(CPACK_COMPONENT_${name}${kind}_GROUP ${part})
  endforeach()
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME rdma-${part})
  set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
  set(CPACK_RPM_${name}_PACKAGE_NAME rdma-${part})
endforeach()

if(RDMA_MKDOCS)
  install(FILES ${packaging}/rdma-hook/doc-base DESTINATION ${CMAKE_INSTALL_DATADIR}/doc-base RENAME rdma-hook
    COMPONENT hook_deb EXCLUDE_FROM_ALL)
endif()

find_program(RDMA_DPKG dpkg)
set(CPACK_GENERATOR RPM)
if(RDMA_DPKG)
  set(CPACK_GENERATOR DEB)
endif()
set(RDMA_PACKAGES hook)
if(TARGET rdma-perf)
  list(APPEND RDMA_PACKAGES perf perf-report)
endif()
# By kind of package: each has components of its own.
configure_file(${packaging}/cpack.cmake.in packaging/cpack.cmake @ONLY)
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

set(CPACK_DEBIAN_HOOK_PACKAGE_SECTION admin)
# Any engine will do: apt takes the first only where there is none of the others.
set(CPACK_DEBIAN_HOOK_PACKAGE_RECOMMENDS "podman (>= 4.8) | docker.io | docker-ce | containerd | cri-o | slurmd, rdma-perf")
set(CPACK_DEBIAN_HOOK_PACKAGE_SUGGESTS openvswitch-switch)
# An older one cannot read our drop-in (append=true, known to containers/common 0.57), and then no command of it works.
set(CPACK_DEBIAN_HOOK_PACKAGE_BREAKS "podman (<< 4.8)")
set(CPACK_DEBIAN_HOOK_PACKAGE_CONTROL_EXTRA ${packaging}/rdma-hook/conffiles
  ${packaging}/rdma-hook/postinst ${packaging}/rdma-hook/prerm ${packaging}/rdma-hook/postrm)
set(hook_summary "RDMA for containers by annotation")
set(hook_text "A hook for container engines: an annotation gives a container a SoftRoCE or
Soft-iWARP device, a share of a host's adapter, or an SR-IOV virtual function,
with exactly its own device nodes. It is taken back when the container ends.

This package has the hook, its files for Podman, and rdmactl, which shows and
corrects what is attached.")
set(perf_summary "validates and measures RDMA")
set(perf_text "Checks every byte before it times anything: between two hosts, two containers,
or within one process. Chooses device and GID by itself, compares reports, and
says what keeps a container from using RDMA.")
set(perf-report_summary "makes a page of what rdma-perf measured")
set(perf-report_text "One HTML page that needs no network, with figures: latency and bandwidth,
processor time, scaling, ratios with intervals, what makes the numbers
doubtful, environment and settings.")
foreach(part ${RDMA_PACKAGES})
  string(TOUPPER ${part} name)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${${part}_summary}\n${${part}_text}")
  string(SUBSTRING "${${part}_summary}" 0 1 first)
  string(TOUPPER ${first} first)
  string(SUBSTRING "${${part}_summary}" 1 -1 rest)
  set(CPACK_RPM_${name}_PACKAGE_SUMMARY "${first}${rest}")
  set(CPACK_RPM_${name}_PACKAGE_DESCRIPTION "${${part}_text}")
endforeach()

set(CPACK_DEBIAN_PERF_PACKAGE_SECTION net)
# librdmacm is loaded when it is asked for; the providers are loaded by libibverbs.
set(CPACK_DEBIAN_PERF_PACKAGE_RECOMMENDS "ibverbs-providers, librdmacm1t64 | librdmacm1")
set(CPACK_DEBIAN_PERF_PACKAGE_SUGGESTS "rdma-perf-report")

set(CPACK_DEBIAN_PERF-REPORT_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PERF-REPORT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PERF-REPORT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PERF-REPORT_PACKAGE_DEPENDS "python3 (>= 3.11), python3-jinja2, python3-matplotlib")
set(CPACK_DEBIAN_PERF-REPORT_PACKAGE_ENHANCES rdma-perf)
include(${CMAKE_CURRENT_LIST_DIR}/Rpm.cmake)
include(CPack)
