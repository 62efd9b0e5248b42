# zsh of Debian looks into another folder than those of Fedora and RHEL, and CMake took that of the machine where it ran.
if(CPACK_GENERATOR STREQUAL "RPM")
  file(GLOB folders ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/zsh/vendor-completions)
  foreach(folder ${folders})
    get_filename_component(parent ${folder} DIRECTORY)
    file(RENAME ${folder} ${parent}/site-functions)
  endforeach()
endif()
