# Toolchain of the preset arm64: Debian's cross compiler (crossbuild-essential-arm64), and for arm64 the libraries that .ci/packages
# lists under `build`. What the build itself runs (the generator of filters), and the tests, QEMU's user mode runs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# pkg-config itself is this machine's.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
find_program(RDMA_QEMU NAMES qemu-aarch64-static qemu-aarch64 REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${RDMA_QEMU})
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
