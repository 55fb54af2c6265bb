# SPDX-License-Identifier: MIT
# Run at every build: writes base/version.h into the build folder when the revision changed.
execute_process(
  COMMAND git -C "${SOURCE_DIR}" describe --always --dirty --abbrev=9 --exclude=*
  OUTPUT_VARIABLE TD_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(status)
  set(TD_REVISION "")
endif()
set(TD_REVISION_SUFFIX "")
if(TD_REVISION)
  set(TD_REVISION_SUFFIX " (${TD_REVISION})")
endif()
# configure_file leaves an unchanged file alone.
configure_file("${SOURCE_DIR}/base/version.h.in" "${OUTPUT}" @ONLY)
