# programs: all that an installation or a package runs.
add_custom_target(programs)

# rdma_program(TARGET [COMPONENT]): TARGET is installed, and built with `programs`.
function(rdma_program target)
  set(component ${ARGN})
  if(NOT component)
    set(component ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME})
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  add_dependencies(programs ${target})
endfunction()
