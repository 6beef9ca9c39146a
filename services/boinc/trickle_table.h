// BOINC's table msg_from_host: id, create_time, hostid, variety, handled, xml.
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace cobblestone::boinc {

inline constexpr std::size_t kLargestTrickleRow = 1 << 20;  // bytes

struct TrickleMessageRow {
  std::uint64_t id = 0;    // of the row; ascending through the project's life
  double create_time = 0;  // UNIX s: arrival at the project
  HostId host;
  std::string variety;
  std::string xml;
  std::uint64_t line = 0;  // line of the file where the row begins, from 1
  // Count before this row in its file: lines, or rows in a dump, because one line of a dump holds many rows.
  std::uint64_t before = 0;
  // Not empty: the reason why host, time or variety is unknown (bare_bodies.h).
  std::string problem;

  friend bool operator==(const TrickleMessageRow&, const TrickleMessageRow&) = default;
};

enum class TrickleColumn : std::uint8_t { kId, kCreateTime, kHostId, kVariety, kXml, kOther };

// By TrickleColumn. `handled` is the status of BOINC's own handler and is skipped, as are other columns.
inline constexpr std::array<std::string_view, 5> kTrickleColumns = {"id", "create_time", "hostid", "variety",
                                                                    "xml"};
TrickleColumn TrickleColumnOf(std::string_view name);

// The table's default order.
std::vector<TrickleColumn> StockTrickleColumns();
// Columns from a header or a list, in any order. InvalidArgument names a required column that
// is missing or appears twice.
Result<std::vector<TrickleColumn>> TrickleColumnsNamed(const std::vector<std::string>& names);

// The character that MySQL's escape of a backslash and `c` stands for.
char MysqlUnescaped(char c);

// NULL is absent. InvalidArgument, with column and value.
Status SetTrickleColumn(TrickleColumn column, const std::optional<std::string>& value,
                        TrickleMessageRow* row);

}  // namespace cobblestone::boinc
