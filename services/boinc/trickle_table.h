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
  std::uint64_t id = 0;    // of the row; counts up through the project's life
  double create_time = 0;  // UNIX s: when the project got it
  HostId host;
  std::string variety;
  std::string xml;
  std::uint64_t line = 0;  // of the file, counted from 1, where the row begins
  std::uint64_t before =
      0;  // what was counted of its file before it: lines; in a dump, whose lines hold many, rows
  std::string problem;  // not empty: nobody can tell whose it is, and why (bare_bodies.h)

  friend bool operator==(const TrickleMessageRow&, const TrickleMessageRow&) = default;
};

enum class TrickleColumn : std::uint8_t { kId, kCreateTime, kHostId, kVariety, kXml, kOther };

// By TrickleColumn. `handled` says what BOINC's own handler has done, and is passed over as others are.
inline constexpr std::array<std::string_view, 5> kTrickleColumns = {"id", "create_time", "hostid", "variety",
                                                                    "xml"};
TrickleColumn TrickleColumnOf(std::string_view name);

// The table's own order.
std::vector<TrickleColumn> StockTrickleColumns();
// Of a table or a list that names them, in any order. InvalidArgument, naming it: one that is needed is missing or twice.
Result<std::vector<TrickleColumn>> TrickleColumnsNamed(const std::vector<std::string>& names);

// What MySQL means by a backslash and this character.
char MysqlUnescaped(char c);

// NULL is absent. InvalidArgument, naming column and value.
Status SetTrickleColumn(TrickleColumn column, const std::optional<std::string>& value,
                        TrickleMessageRow* row);

}  // namespace cobblestone::boinc
