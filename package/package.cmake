# SPDX-License-Identifier: MIT
# The Debian package (scripts/package) and the uninstall target.
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -P ${CMAKE_SOURCE_DIR}/package/uninstall.cmake VERBATIM)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tdprof)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The tdprof authors <tdprof@packages.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sampling profiler with top-down analysis of pipeline slots")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"tdrec records where a program spends its time, by hardware counters, by the CPU
clock, or on a modelled core where the machine has no counters. tdreport says
which functions, source lines and instructions that is, what their pipeline
slots are lost to (front end, memory, core, bad speculation), and how sure each
figure is.
.
It reads perf.data files, too, and writes flame graphs, pprof, speedscope and
other formats.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS qemu-user)          # the modelled core
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libc6-arm64-cross)    # for programs of another architecture on it
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/package/debian.cmake)
set(CPACK_TD_PACKAGE_DIR ${CMAKE_SOURCE_DIR}/package)
include(CPack)
