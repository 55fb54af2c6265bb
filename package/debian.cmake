# SPDX-License-Identifier: MIT
# Run by cpack on what it has installed into a folder of its own, before that becomes a package: what Debian's policy asks
# of documents. gzip -n writes no name and no time, so that the same input gives the same bytes.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(doc ${root}/doc/tdprof)

# Names of debug information, and which compiler it was.
file(GLOB programs ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/bin/* ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib/*/tdprof/*.so)
execute_process(COMMAND strip --strip-unneeded --remove-section=.comment ${programs} COMMAND_ERROR_IS_FATAL ANY)

function(compress)
  execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE ${doc}/LICENSE) # its text stands in `copyright`
file(COPY ${CPACK_TD_PACKAGE_DIR}/copyright ${CPACK_TD_PACKAGE_DIR}/changelog DESTINATION ${doc}
     FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(COPY ${CPACK_TD_PACKAGE_DIR}/lintian-overrides DESTINATION ${root}/lintian/overrides
     FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(RENAME ${root}/lintian/overrides/lintian-overrides ${root}/lintian/overrides/tdprof)
file(GLOB pages ${root}/man/man*/*)
compress(${pages} ${doc}/changelog)
if(EXISTS ${root}/zsh/site-functions) # which is the administrator's in Debian
  file(RENAME ${root}/zsh/site-functions ${root}/zsh/vendor-completions)
endif()
