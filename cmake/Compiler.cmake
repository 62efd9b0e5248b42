# Warnings, hardening and sanitizers, carried by the target rdma_flags, and the way programs that
# run in every container start are linked.
add_library(rdma_flags INTERFACE)
target_compile_features(rdma_flags INTERFACE cxx_std_20)
target_include_directories(rdma_flags INTERFACE ${PROJECT_SOURCE_DIR})
# stderrdesc_np, accept4 and the like.
target_compile_definitions(rdma_flags INTERFACE _GNU_SOURCE RDMA_VERSION="${PROJECT_VERSION}")
target_compile_options(rdma_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  # No folder of the machine that builds gets into a program.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  # All assertions are libstdc++'s, and every preset has them. No file uses assert(), which -DNDEBUG would remove.
  -D_GLIBCXX_ASSERTIONS -fPIE
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:RDMA_TEST>>>:-fstack-protector-strong;-ffunction-sections;-fdata-sections>
  # GCC looks for garbage when its heap has doubled, and a precompiled header is 100 MB of it: a tenth of all time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>
  # Part of clang's -Wconversion, not of GCC's.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
  $<$<BOOL:${RDMA_WERROR}>:-Werror>)
target_link_options(rdma_flags INTERFACE -Wl,-z,relro,-z,now)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
if(CMAKE_BUILD_TYPE MATCHES "Release|RelWithDebInfo" AND NOT RDMA_SANITIZE)
  # The tests' own code is not optimised (what it tests is): it is most of all code, and takes a third less to compile.
  target_compile_options(rdma_flags INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:RDMA_TEST>>,-O0,-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>)
endif()
if(RDMA_SANITIZE)
  # GCC takes the sanitizers' own checks in libstdc++'s <regex> for uses of uninitialised members.
  target_compile_options(rdma_flags INTERFACE
    -fsanitize=${RDMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rdma_flags INTERFACE -fsanitize=${RDMA_SANITIZE})
endif()

include(CheckCXXSourceCompiles)
# How a program carries its C++ runtime that is linked dynamically otherwise. Fedora has the archive in a package of its own.
set(RDMA_OWN_RUNTIME -static-libstdc++ -static-libgcc)
if(NOT RDMA_SANITIZE)
  set(CMAKE_REQUIRED_LINK_OPTIONS ${RDMA_OWN_RUNTIME})
  check_cxx_source_compiles("#include <iostream>\nint main() { std::cout << std::flush; }" RDMA_CAN_LINK_RUNTIME)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(NOT RDMA_CAN_LINK_RUNTIME)
    message(STATUS "rdma-perf needs the C++ library where it runs: libstdc++.a is missing")
    set(RDMA_OWN_RUNTIME)
  endif()
endif()

set(RDMA_STATIC_POSSIBLE OFF)
if(RDMA_STATIC_HOOK AND NOT RDMA_SANITIZE)
  set(CMAKE_REQUIRED_FLAGS "-static-pie -fPIE")
  set(CMAKE_REQUIRED_LIBRARIES nl-3 md)
  check_cxx_source_compiles(
    "extern \"C\" void* nl_socket_alloc(void); int main() { return nl_socket_alloc() == nullptr; }"
    RDMA_CAN_LINK_STATICALLY)
  unset(CMAKE_REQUIRED_LIBRARIES)
  # A static program applies its own relocations: packed ones need a C library that knows them, beside the linker.
  string(APPEND CMAKE_REQUIRED_FLAGS " -Wl,--fatal-warnings -Wl,-z,pack-relative-relocs")
  check_cxx_source_compiles("
    #include <features.h>
    #if !__GLIBC_PREREQ(2, 36)
    #error it would crash before main()
    #endif
    int main() {}"
    RDMA_CAN_PACK_RELOCATIONS)
  unset(CMAKE_REQUIRED_FLAGS)
  set(RDMA_STATIC_POSSIBLE ${RDMA_CAN_LINK_STATICALLY})
  if(NOT RDMA_CAN_LINK_STATICALLY)
    message(STATUS "rdma-hook is linked dynamically: libc.a, libnl-3.a or libmd.a is missing")
  endif()
endif()

# A library as its archive where the programs that use it are linked statically, else as it is.
function(rdma_static_or_shared name library shared)
  add_library(${name} INTERFACE)
  if(RDMA_STATIC_POSSIBLE)
    find_library(RDMA_ARCHIVE_${library} NAMES lib${library}.a REQUIRED)
    target_link_libraries(${name} INTERFACE ${RDMA_ARCHIVE_${library}})
    get_target_property(includes ${shared} INTERFACE_INCLUDE_DIRECTORIES)
    if(includes)
      target_include_directories(${name} SYSTEM INTERFACE ${includes})
    endif()
  else()
    target_link_libraries(${name} INTERFACE ${shared})
  endif()
endfunction()

# A program that starts with every container: static where that is possible.
function(rdma_link_for_fast_start target)
  if(RDMA_STATIC_POSSIBLE)
    # Relocations are work at each start: packed (RELR) they are a quarter of it.
    target_link_options(${target} PRIVATE
      -static-pie -Wl,--gc-sections $<$<BOOL:${RDMA_CAN_PACK_RELOCATIONS}>:-Wl,-z,pack-relative-relocs>)
  else()
    target_link_options(${target} PRIVATE -pie)
  endif()
endfunction()

# rdma_precompile(TARGET [OWNER]): the headers that cost most to read, read once for a family of targets, whose flags are the
# same: OWNER, which is `base` unless named, and those that reuse its precompiled header. Without a time in it, clang's can be
# kept by ccache.
function(rdma_precompile target)
  set(owners base ${ARGN})
  list(POP_BACK owners owner)
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  if(target STREQUAL owner)
    set(headers <nlohmann/json.hpp> <fmt/format.h> <functional> <map> <memory> <optional> <string> <vector>)
    if(target STREQUAL "test_main")
      list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
    endif()
    target_precompile_headers(${target} PRIVATE ${headers})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
