#include "services/boinc/trickle_table.h"

#include <algorithm>
#include <charconv>

#include "services/boinc/trickle_xml.h"

namespace cobblestone::boinc {

char MysqlUnescaped(char c) {
  switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'b': return '\b';
    case '0': return '\0';
    case 'Z': return '\x1a';
    default: return c;
  }
}

TrickleColumn TrickleColumnOf(std::string_view name) {
  const auto found = std::find(kTrickleColumns.begin(), kTrickleColumns.end(), name);
  return static_cast<TrickleColumn>(found - kTrickleColumns.begin());
}

std::vector<TrickleColumn> StockTrickleColumns() {
  return {TrickleColumn::kId,      TrickleColumn::kCreateTime, TrickleColumn::kHostId,
          TrickleColumn::kVariety, TrickleColumn::kOther,      TrickleColumn::kXml};
}

Result<std::vector<TrickleColumn>> TrickleColumnsNamed(const std::vector<std::string>& names) {
  std::vector<TrickleColumn> columns;
  for (const std::string& name : names) columns.push_back(TrickleColumnOf(name));
  for (const std::string_view name : kTrickleColumns) {
    const auto times = std::count(columns.begin(), columns.end(), TrickleColumnOf(name));
    if (times != 1)
      return Status::InvalidArgument("the column " + std::string(name) +
                                     (times == 0 ? " is missing" : " occurs twice"));
  }
  return columns;
}

Status SetTrickleColumn(TrickleColumn column, const std::optional<std::string>& value,
                        TrickleMessageRow* row) {
  if (column == TrickleColumn::kOther) return Status::Ok();
  const std::string name(kTrickleColumns[static_cast<std::size_t>(column)]);
  if (!value && column != TrickleColumn::kXml) return Status::InvalidArgument(name + " is NULL");
  const std::string text = value.value_or("");
  switch (column) {
    case TrickleColumn::kId:
    case TrickleColumn::kHostId: {
      std::uint64_t whole = 0;
      const auto end = std::from_chars(text.data(), text.data() + text.size(), whole);
      if (end.ec != std::errc() || end.ptr != text.data() + text.size() || whole == 0)
        return Status::InvalidArgument(name + " is '" + text + "'; the value must be a whole number above 0");
      (column == TrickleColumn::kId ? row->id : row->host.value) = whole;
      break;
    }
    case TrickleColumn::kCreateTime: {
      const auto seconds = ParseTrickleNumber(text);
      if (!seconds || *seconds == 0)
        return Status::InvalidArgument(name + " is '" + text + "'; the value must be a UNIX time in seconds");
      row->create_time = *seconds;
      break;
    }
    case TrickleColumn::kVariety:
      if (text.size() > kLongestTrickleName)
        return Status::InvalidArgument(name + " is longer than " + std::to_string(kLongestTrickleName) +
                                       " bytes");
      row->variety = text;
      break;
    case TrickleColumn::kXml: row->xml = text; break;
    case TrickleColumn::kOther: break;
  }
  return Status::Ok();
}

}  // namespace cobblestone::boinc
