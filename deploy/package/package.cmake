# The Debian package `cobblestone`, for cpack, which ./dev package runs. The package has the files that `cmake --install` installs
# below /usr, and the files that stage.py adds. Its version is the version of project() in the root's CMakeLists.txt, followed by
# the Debian release of the build.

set(release 1)
set(codename unstable)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release os_release)
  if("ID=debian" IN_LIST os_release AND os_release MATCHES "VERSION_ID=\"([0-9]+)\"")
    # 0.1.0-1~deb12 is less than 0.1.0-1~deb13, so an upgrade of Debian installs the package for the newer release.
    set(release "1~deb${CMAKE_MATCH_1}")
    if(os_release MATCHES "VERSION_CODENAME=([a-z]+)")
      set(codename "${CMAKE_MATCH_1}")
    endif()
  endif()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cobblestone)
set(CPACK_PACKAGE_VENDOR "The Cobblestone authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "exactly-once credit for volunteer computing projects")
set(CPACK_PACKAGE_DESCRIPTION "Cobblestone computes the credit of a volunteer computing project such as
those of BOINC. It ingests the jobs and validations of the project, prices
each result by the policy of the project, and posts the credit to host, user
and team exactly once. The ledger explains every grant, and an audit
recomputes every grant and every total.
.
One program and one data directory are enough. On Kafka many workers run the
same program.")
# ./dev package reads the maintainer from DEBFULLNAME and DEBEMAIL, like Debian's own tools.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Cobblestone authors <cobblestone@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${release}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For postinst, which creates the user.
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
foreach(script conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/deploy/package/debian/${script}")
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# DESTDIR is the root of the package, so that the package can have files below /usr and in /etc.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Debug information stays in the build.
set(CPACK_STRIP_FILES ON)

configure_file("${PROJECT_SOURCE_DIR}/deploy/package/stage.cmake.in" "${PROJECT_BINARY_DIR}/generated/stage.cmake" @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/generated/stage.cmake")
include(CPack)
