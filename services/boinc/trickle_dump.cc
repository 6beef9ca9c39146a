#include "services/boinc/trickle_dump.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cobblestone::boinc {
namespace {

constexpr std::string_view kTable = "msg_from_host";
constexpr std::size_t kMaxOthersNamed = 5;

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '@' || c == '.' ||
         c == '+' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

bool Is(std::string_view word, std::string_view upper) {
  return word.size() == upper.size() &&
         std::equal(word.begin(), word.end(), upper.begin(),
                    [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}
template <std::size_t N>
bool IsOneOf(std::string_view word, const std::array<std::string_view, N>& uppers) {
  return std::any_of(uppers.begin(), uppers.end(), [&](std::string_view upper) { return Is(word, upper); });
}

// Decodes 0x48656c6c6f, the form that --hex-blob writes.
std::optional<std::string> FromHex(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (!word.starts_with("0x") || word.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t k = 2; k < word.size(); k += 2) {
    const std::size_t high =
        kDigits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(word[k]))));
    const std::size_t low =
        kDigits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(word[k + 1]))));
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

bool IsSign(std::string_view text, char sign) { return text.size() == 1 && text[0] == sign; }

}  // namespace

bool IsTrickleDump(std::string_view first_line) {
  constexpr std::array<std::string_view, 9> kStatements = {"INSERT", "REPLACE", "CREATE", "DROP", "LOCK",
                                                           "SET",    "USE",     "START",  "BEGIN"};
  return first_line.starts_with("--") || first_line.starts_with("/*") ||
         IsOneOf(first_line.substr(0, first_line.find_first_of(" ;")), kStatements);
}

Status TrickleDumpReader::Error(std::uint64_t line, const std::string& what) const {
  return Status::InvalidArgument(source_ + ", line " + std::to_string(line) + ": " + what);
}

Status TrickleDumpReader::Unexpected(std::string_view found, const std::string& expected) const {
  constexpr std::size_t kShown = 40;
  return Error(line_, "'" + std::string(found.substr(0, kShown)) + (found.size() > kShown ? "..." : "") +
                          "' instead of " + expected + " (in the statement that starts in line " +
                          std::to_string(statement_line_) + ")");
}

bool TrickleDumpReader::ours() const { return table_ == kTable; }

Status TrickleDumpReader::Keep(std::string_view text) {
  if (at_ == At::kEnd) return Status::Ok();  // the rest of the statement is not needed
  if (text_.size() + text.size() > kLargestTrickleRow)
    return Error(line_, "a value of more than " + std::to_string(kLargestTrickleRow) +
                            " bytes is too long for a message (in the statement that starts in line " +
                            std::to_string(statement_line_) + ")");
  text_ += text;
  return Status::Ok();
}

Status TrickleDumpReader::ReadLine(std::string_view line, std::uint64_t number,
                                   std::vector<TrickleMessageRow>* rows) {
  line_ = number;
  const auto next = [&](std::size_t k) { return k + 1 < line.size() ? line[k + 1] : '\n'; };
  for (std::size_t k = 0; k < line.size();) {
    if (in_ == In::kComment) {
      const std::size_t end = line.find("*/", k);
      if (end == std::string_view::npos) return Status::Ok();
      in_ = In::kCode;
      k = end + 2;
    } else if (in_ == In::kQuotes) {
      const std::array<char, 2> stops = {quote_, quote_ == '`' ? quote_ : '\\'};
      const std::size_t end =
          std::min(line.find_first_of(std::string_view(stops.data(), stops.size()), k), line.size());
      if (Status kept = Keep(line.substr(k, end - k)); !kept.ok()) return kept;
      if (end == line.size()) break;
      const char following = next(end);
      if (line[end] == '\\' || following == quote_) {
        const char c = line[end] == '\\' ? MysqlUnescaped(following) : quote_;
        if (Status kept = Keep(std::string_view(&c, 1)); !kept.ok()) return kept;
        // A backslash at the end of the line escapes the line end.
        if (end + 1 == line.size()) return Status::Ok();
        k = end + 2;
        continue;
      }
      in_ = In::kCode;
      k = end + 1;
      if (Status taken = Take(quote_ == '`' ? Kind::kName : Kind::kText, text_, rows); !taken.ok())
        return taken;
    } else if (const char c = line[k]; c == ' ' || c == '\t' || c == '\r') {
      ++k;
    } else if (c == '#' || (c == '-' && next(k) == '-' && (k + 2 == line.size() || line[k + 2] == ' '))) {
      return Status::Ok();
    } else if (c == '/' && next(k) == '*') {
      in_ = In::kComment;
      k += 2;
    } else if (c == '\'' || c == '"' || c == '`') {
      in_ = In::kQuotes;
      quote_ = c;
      text_.clear();
      ++k;
    } else {
      std::size_t end = k + 1;
      if (IsWordChar(c)) {
        while (end < line.size() && IsWordChar(line[end])) ++end;
      }
      if (Status taken = Take(IsWordChar(c) ? Kind::kWord : Kind::kSign, line.substr(k, end - k), rows);
          !taken.ok())
        return taken;
      k = end;
    }
  }
  return in_ == In::kQuotes ? Keep("\n") : Status::Ok();
}

Status TrickleDumpReader::Take(Kind kind, std::string_view text, std::vector<TrickleMessageRow>* rows) {
  const auto sign = [&](char c) { return kind == Kind::kSign && IsSign(text, c); };
  const auto word = [&](std::string_view upper) { return kind == Kind::kWord && Is(text, upper); };
  const bool name = kind == Kind::kName || kind == Kind::kWord;
  constexpr std::array<std::string_view, 5> kBeforeName = {"INTO", "IGNORE", "DELAYED", "LOW_PRIORITY",
                                                           "HIGH_PRIORITY"};
  constexpr std::array<std::string_view, 3> kIfNotThere = {"IF", "NOT", "EXISTS"};
  switch (at_) {
    case At::kStatement:
      statement_line_ = line_;
      at_ = sign(';')                           ? At::kStatement
            : word("INSERT") || word("REPLACE") ? At::kInsert
            : word("CREATE")                    ? At::kCreate
                                                : At::kEnd;
      return Status::Ok();
    case At::kEnd:
      if (sign(';')) at_ = At::kStatement;
      return Status::Ok();

    case At::kInsert:
      if (kind == Kind::kWord && IsOneOf(text, kBeforeName)) return Status::Ok();
      if (!name) return Unexpected(text, "a table name");
      NameTable(text);
      at_ = At::kInsertInto;
      return Status::Ok();
    case At::kInsertInto:
      if (kind == Kind::kWord && text == ".") {  // `database`.`table`
        at_ = At::kInsert;
        return Status::Ok();
      }
      if (!ours()) {
        if (others_.size() < kMaxOthersNamed) others_.insert(table_);
        at_ = sign(';') ? At::kStatement : At::kEnd;
        return Status::Ok();
      }
      found_ = true;
      inserted_ = created_.empty() ? StockTrickleColumns() : created_;
      if (sign('(')) {
        names_.clear();
        at_ = At::kColumn;
        return Status::Ok();
      }
      [[fallthrough]];
    case At::kValues:
      if (!word("VALUES") && !word("VALUE")) return Unexpected(text, "VALUES");
      at_ = At::kRow;
      return Status::Ok();
    case At::kColumn:
      if (sign(')')) {
        auto columns = TrickleColumnsNamed(names_);
        if (!columns.ok()) return Error(line_, columns.status().message() + " in the statement's list");
        inserted_ = std::move(*columns);
        at_ = At::kValues;
      } else if (name) {
        names_.emplace_back(text);
      } else if (!sign(',')) {
        return Unexpected(text, "a column name");
      }
      return Status::Ok();

    case At::kRow:
      if (!sign('(')) return Unexpected(text, "the ( of a row");
      values_.clear();
      row_line_ = line_;
      at_ = At::kValue;
      return Status::Ok();
    case At::kValue: return TakeValue(kind, text);
    case At::kValueEnd:
      if (sign(',')) {
        at_ = At::kValue;
        return Status::Ok();
      }
      if (!sign(')')) return Unexpected(text, ", or ) of a row");
      at_ = At::kRowEnd;
      return EndRow(rows);
    case At::kRowEnd:
      if (!sign(',') && !sign(';') && !word("ON")) return Unexpected(text, ", or ;");
      at_ = sign(',') ? At::kRow : sign(';') ? At::kStatement : At::kEnd;
      return Status::Ok();

    case At::kCreate:
      if (word("TABLE")) {
        at_ = At::kCreateTable;
      } else if (!word("OR") && !word("REPLACE") && !word("TEMPORARY")) {
        at_ = sign(';') ? At::kStatement : At::kEnd;
      }
      return Status::Ok();
    case At::kCreateTable:
      if (kind == Kind::kWord && IsOneOf(text, kIfNotThere)) return Status::Ok();
      if (!name) return Unexpected(text, "a table name");
      NameTable(text);
      at_ = At::kCreateColumns;
      return Status::Ok();
    case At::kCreateColumns:
      if (kind == Kind::kWord && text == ".") {
        at_ = At::kCreateTable;
      } else if (sign('(') && ours()) {
        names_.clear();
        depth_ = 1;
        at_ = At::kDefinition;
      } else {
        at_ = sign(';') ? At::kStatement : At::kEnd;
      }
      return Status::Ok();
    case At::kDefinition:
    case At::kDefinitionEnd: return TakeDefinition(kind, text);
  }
  return Status::Ok();
}

Status TrickleDumpReader::TakeValue(Kind kind, std::string_view text) {
  if (kind == Kind::kWord) {
    if (text.starts_with('_')) return Status::Ok();  // _binary 'text'
    const auto bytes = FromHex(text);
    const bool number = std::isdigit(static_cast<unsigned char>(text.front())) != 0 || text.front() == '-' ||
                        text.front() == '+' || text.front() == '.';
    if (!bytes && !number && !Is(text, "NULL")) return Unexpected(text, "a value");
    values_.push_back(bytes ? bytes : number ? std::optional<std::string>(text) : std::nullopt);
  } else if (kind == Kind::kText) {
    values_.emplace_back(text);
  } else {
    return Unexpected(text, "a value");
  }
  at_ = At::kValueEnd;
  // One surplus value shows that there are too many; further values are dropped.
  if (values_.size() > inserted_.size() + 1) values_.pop_back();
  return Status::Ok();
}

Status TrickleDumpReader::EndRow(std::vector<TrickleMessageRow>* rows) {
  if (values_.size() != inserted_.size())
    return Error(row_line_, "a row of " + std::string(values_.size() < inserted_.size() ? "" : "more than ") +
                                std::to_string(std::min(values_.size(), inserted_.size())) +
                                " columns; the row must have " + std::to_string(inserted_.size()));
  TrickleMessageRow row;
  row.line = row_line_;
  row.before = rows_++;
  for (std::size_t k = 0; k < values_.size(); ++k) {
    if (const Status set = SetTrickleColumn(inserted_[k], values_[k], &row); !set.ok())
      return Error(row_line_, set.message());
  }
  rows->push_back(std::move(row));
  return Status::Ok();
}

Status TrickleDumpReader::TakeDefinition(Kind kind, std::string_view text) {
  constexpr std::array<std::string_view, 9> kNoColumns = {
      "PRIMARY", "KEY", "UNIQUE", "INDEX", "CONSTRAINT", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"};
  if (at_ == At::kDefinition) {
    if (kind == Kind::kName || (kind == Kind::kWord && !IsOneOf(text, kNoColumns))) names_.emplace_back(text);
    at_ = At::kDefinitionEnd;
    if (kind != Kind::kSign) return Status::Ok();
  }
  if (kind != Kind::kSign) return Status::Ok();
  if (IsSign(text, '(')) ++depth_;
  if (IsSign(text, ',') && depth_ == 1) at_ = At::kDefinition;
  if (!IsSign(text, ')') || --depth_ > 0) return Status::Ok();
  auto columns = TrickleColumnsNamed(names_);
  if (!columns.ok())
    return Error(line_, columns.status().message() + " in the dump's " + std::string(kTable));
  created_ = std::move(*columns);
  found_ = true;
  at_ = At::kEnd;
  return Status::Ok();
}

Status TrickleDumpReader::Finish() const {
  if (at_ != At::kStatement || in_ != In::kCode)
    return Error(at_ == At::kStatement ? line_ : statement_line_,
                 "the statement that starts here has no end; the file may be truncated");
  if (found_) return Status::Ok();
  std::string tables;
  for (const std::string& table : others_) tables += (tables.empty() ? "" : ", ") + table;
  return Status::InvalidArgument(source_ + ": no table " + std::string(kTable) + " in this dump" +
                                 (tables.empty() ? "" : ", but " + tables));
}

}  // namespace cobblestone::boinc
