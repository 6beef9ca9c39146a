// The rows of msg_from_host in the statements that mysqldump and mariadb-dump write:
//
//   INSERT INTO `msg_from_host` VALUES (1,1700000000,5,'orig',0,'<ts>7</ts>\n'),(2,...);
//
// on one line or several. Columns: those of the statement's list (--complete-insert), else those of the dump's
// CREATE TABLE, else the table's default. Escapes in texts: \n \t \r \0 \b \Z; a backslash before any other
// character stands for that character; a doubled quote is one quote. Statements about other tables, other
// statements and comments are skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/boinc/trickle_table.h"

namespace cobblestone::boinc {

// True if this first line, trimmed, begins such a file: a comment or a statement.
bool IsTrickleDump(std::string_view first_line);

class TrickleDumpReader {
 public:
  // `source`: name of the file, for messages.
  explicit TrickleDumpReader(std::string source) : source_(std::move(source)) {}

  // The next line, without its end; `number` counts from 1. Appends the rows that end in the line.
  // InvalidArgument, with source, line and problem; the reader must not be used again.
  Status ReadLine(std::string_view line, std::uint64_t number, std::vector<TrickleMessageRow>* rows);
  // Call it after the last line. InvalidArgument: a statement is still open, or no statement
  // was about the table.
  [[nodiscard]] Status Finish() const;

 private:
  enum class In : std::uint8_t { kCode, kQuotes, kComment };
  enum class Kind : std::uint8_t { kWord, kName, kText, kSign };
  // The element that the parser expects next.
  enum class At : std::uint8_t {
    kStatement,
    kEnd,  // end of a statement that is not about the table
    kInsert,
    kInsertInto,  // after the table's name
    kColumn,
    kValues,
    kRow,
    kValue,
    kValueEnd,
    kRowEnd,
    kCreate,
    kCreateTable,
    kCreateColumns,  // after the table's name
    kDefinition,
    kDefinitionEnd,
  };

  Status Take(Kind kind, std::string_view text, std::vector<TrickleMessageRow>* rows);
  Status TakeValue(Kind kind, std::string_view text);
  Status TakeDefinition(Kind kind, std::string_view text);
  Status EndRow(std::vector<TrickleMessageRow>* rows);
  Status Keep(std::string_view text);
  // The name of a table, possibly qualified by a database.
  void NameTable(std::string_view text) { table_ = text.substr(text.rfind('.') + 1); }
  [[nodiscard]] bool ours() const;
  [[nodiscard]] Status Error(std::uint64_t line, const std::string& what) const;
  [[nodiscard]] Status Unexpected(std::string_view found, const std::string& expected) const;

  std::string source_;
  std::uint64_t line_ = 0;
  In in_ = In::kCode;
  char quote_ = 0;
  std::string text_;  // within quotes, unescaped
  At at_ = At::kStatement;
  std::uint64_t statement_line_ = 0;
  std::string table_;
  std::vector<std::string> names_;
  std::size_t depth_ = 0;                // of parentheses in a CREATE TABLE
  std::vector<TrickleColumn> created_;   // from the dump's CREATE TABLE
  std::vector<TrickleColumn> inserted_;  // from the current statement
  std::uint64_t row_line_ = 0;
  std::vector<std::optional<std::string>> values_;
  bool found_ = false;
  std::set<std::string> others_;  // some of the other tables
  std::uint64_t rows_ = 0;
};

}  // namespace cobblestone::boinc
