# Run by `cmake --install`: installs the units of deploy/systemd. The units name the program below /usr/local; this script replaces
# /usr/local by the prefix of the installation (package: /usr).
set(to "${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
file(GLOB units "${CMAKE_CURRENT_LIST_DIR}/../systemd/*.service" "${CMAKE_CURRENT_LIST_DIR}/../systemd/*.timer")
foreach(unit IN LISTS units)
  get_filename_component(name "${unit}" NAME)
  file(INSTALL FILES "${unit}" DESTINATION "${to}")
  file(READ "${unit}" text)
  string(REPLACE "ExecStart=/usr/local/bin/" "ExecStart=${CMAKE_INSTALL_PREFIX}/bin/" text "${text}")
  file(WRITE "$ENV{DESTDIR}${to}/${name}" "${text}")
endforeach()
