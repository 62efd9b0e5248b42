# Requests, configuration and policy.
rdma_test(hook_request_test LABEL unit LIBRARIES hook_request SOURCES
  config_bad_input_test.cc
  config_file_test.cc
  config_test.cc
  device_spec_test.cc
  policy_test.cc
  request_bad_input_test.cc
  request_child_test.cc
  request_hostile_test.cc
  request_limits_test.cc
  request_pool_test.cc
  request_routes_test.cc
  request_test.cc
  request_vf_test.cc)

# What is written about annotations, configuration and exit codes.
rdma_test(hook_documents_test LABEL unit LIBRARIES hook_ctl netns fakes SOURCES
  config_documents_test.cc
  examples_test.cc
  request_documents_test.cc
  request_journal_test.cc)
target_compile_definitions(hook_documents_test PRIVATE SOURCE_DIR="${PROJECT_SOURCE_DIR}")
# `cmake --build build/dev --target documents` writes what they and docs/generate print from the tables of keys and modes.
add_custom_target(documents
  COMMAND ${CMAKE_COMMAND} -E env RDMA_WRITE_DOCUMENTS=1 $<TARGET_FILE:hook_documents_test> --gtest_brief=1
  COMMAND ${PROJECT_SOURCE_DIR}/docs/generate
  COMMENT "Writing the lists of keys and modes" VERBATIM)
add_dependencies(documents hook_documents_test)
