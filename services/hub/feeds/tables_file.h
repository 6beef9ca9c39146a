// tables.xml: what a project says about its own statistics files (tests/golden/export/README.md, "Elements, in order").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/hub/feeds/figures.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

// A count or sum that is 0, or whose table the project does not export, is absent.
struct TablesFile {
  std::uint64_t update_time = 0;  // UNIX s at which the export began
  std::optional<std::uint64_t> users{};
  std::optional<std::uint64_t> hosts{};
  std::optional<std::uint64_t> teams{};
  std::optional<std::uint64_t> users_deleted{};
  std::optional<std::uint64_t> hosts_deleted{};
  // Of the users, before those without consent are left out; a sum of doubles, so its last digits may differ from the
  // sum of the figures in the file.
  std::optional<CreditFigure> total_credit{};
  bool credit_by_app = false;
  std::vector<std::string> applications{};  // bytes as in the file

  friend bool operator==(const TablesFile&, const TablesFile&) = default;
};

// The whole file, at most 1 MiB, uncompressed. `name` is for messages. A file without update_time is refused, because
// nothing can be compared with it.
std::variant<TablesFile, FileRefusal> ParseTables(std::string_view bytes, const std::string& name);

}  // namespace cobblestone::hub
