// A message of a database client in the place of the first row: `mysql ... > rows 2>&1` writes the client's warnings
// into the file.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace cobblestone::boinc {

inline constexpr std::string_view kClientMessageRemedy =
    "write only the client's standard output to the file (no 2>&1), and store the password in an option file";

inline bool IsClientMessage(std::string_view line) {
  constexpr std::array<std::string_view, 6> kBeginnings = {
      "mysql: ",         "mysqldump: ", "mariadb: ", "mariadb-dump: ", "Warning: Using a password",
      "Enter password: "};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [line](std::string_view beginning) { return line.starts_with(beginning); });
}

}  // namespace cobblestone::boinc
