# rdma_gzip(FILE NAME OUT): FILE as NAME.gz, without a time in it; its path in OUT. Done anew when FILE changes.
function(rdma_gzip file name out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  set(zipped ${PROJECT_BINARY_DIR}/zipped/${name}.gz)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/zipped)
  execute_process(COMMAND gzip -9nc ${file} OUTPUT_FILE ${zipped} COMMAND_ERROR_IS_FATAL ANY)
  set(${out} ${zipped} PARENT_SCOPE)
endfunction()
