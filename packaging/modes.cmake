# The modes of the packages' files, whatever mask those of the checkout were made with.
execute_process(COMMAND chmod -R u+rw,go-w,a+rX ${CPACK_TEMPORARY_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
