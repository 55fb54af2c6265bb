# SPDX-License-Identifier: MIT
# Removes what `cmake --install BUILD` has written, and the folders that are empty then:
#   cmake --build BUILD --target uninstall
# $DESTDIR and the prefix are those of the last installation.
if(NOT EXISTS "${BUILD}/install_manifest.txt")
  message(FATAL_ERROR "nothing to remove: ${BUILD}/install_manifest.txt is not there (cmake --install writes it)")
endif()
file(STRINGS "${BUILD}/install_manifest.txt" files)
foreach(name ${files})
  set(path "$ENV{DESTDIR}${name}")
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    message(STATUS "Removing: ${path}")
    file(REMOVE "${path}")
  endif()
  # Folders of our own, upwards; those of the system are named otherwise.
  get_filename_component(folder "${path}" DIRECTORY)
  while(folder MATCHES "/tdprof(/|$)")
    file(GLOB left "${folder}/*" "${folder}/.*")
    list(FILTER left EXCLUDE REGEX "/\\.\\.?$")
    if(left)
      break()
    endif()
    file(REMOVE_RECURSE "${folder}")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
file(REMOVE "${BUILD}/install_manifest.txt")
