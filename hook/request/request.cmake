# hook_request: what a container asks for and what it may have. Pure. Needs the table of modes, which is in hook_core and needs this library:
# static libraries may form such a ring if CMake is told of it.
add_library(hook_request STATIC
  ${CMAKE_CURRENT_LIST_DIR}/annotations.cc
  ${CMAKE_CURRENT_LIST_DIR}/child_annotations.cc
  ${CMAKE_CURRENT_LIST_DIR}/config.cc
  ${CMAKE_CURRENT_LIST_DIR}/config_json.cc
  ${CMAKE_CURRENT_LIST_DIR}/config_policy.cc
  ${CMAKE_CURRENT_LIST_DIR}/config_ports.cc
  ${CMAKE_CURRENT_LIST_DIR}/cpu_list.cc
  ${CMAKE_CURRENT_LIST_DIR}/device_spec.cc
  ${CMAKE_CURRENT_LIST_DIR}/draft.cc
  ${CMAKE_CURRENT_LIST_DIR}/judge.cc
  ${CMAKE_CURRENT_LIST_DIR}/limits.cc
  ${CMAKE_CURRENT_LIST_DIR}/nearest.cc
  ${CMAKE_CURRENT_LIST_DIR}/ovs_annotations.cc
  ${CMAKE_CURRENT_LIST_DIR}/policy.cc
  ${CMAKE_CURRENT_LIST_DIR}/request.cc
  ${CMAKE_CURRENT_LIST_DIR}/request_json.cc
  ${CMAKE_CURRENT_LIST_DIR}/route_annotations.cc
  ${CMAKE_CURRENT_LIST_DIR}/vf_annotations.cc
  ${CMAKE_CURRENT_LIST_DIR}/vf_request.cc)
target_link_libraries(hook_request PUBLIC netns_values base $<TARGET_NAME_IF_EXISTS:hook_core>)
rdma_precompile(hook_request)
