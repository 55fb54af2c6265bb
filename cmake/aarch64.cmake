# SPDX-License-Identifier: MIT
# Builds for aarch64 with Debian's cross compiler. AARCH64_ROOT: unpacked arm64 packages (scripts/test-arm64 makes it).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(AARCH64_ROOT "$ENV{AARCH64_ROOT}" CACHE PATH "Unpacked arm64 packages")
set(CMAKE_SYSROOT "${AARCH64_ROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${AARCH64_ROOT}")
