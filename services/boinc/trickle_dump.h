// The rows of msg_from_host in the statements that mysqldump and mariadb-dump write:
//
//   INSERT INTO `msg_from_host` VALUES (1,1700000000,5,'orig',0,'<ts>7</ts>\n'),(2,...);
//
// on one line or several. Columns are those that the statement lists (--complete-insert), else those of the dump's CREATE
// TABLE, else the table's own. Escapes in texts: \n \t \r \0 \b \Z, a backslash before any other character stands for that,
// and a quote twice is one. Other tables' statements, other statements and comments are passed over.
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

// True for the first line, without blanks around it, of such a file: a comment or a statement.
bool IsTrickleDump(std::string_view first_line);

class TrickleDumpReader {
 public:
  // `source`: for messages, the file's name.
  explicit TrickleDumpReader(std::string source) : source_(std::move(source)) {}

  // The next line, without its end; `number` counts from 1. Appends the rows that end in it. InvalidArgument, naming source,
  // line and what is wrong; the reader is then of no further use.
  Status ReadLine(std::string_view line, std::uint64_t number, std::vector<TrickleMessageRow>* rows);
  // After the last line: InvalidArgument where a statement is still open, or none was about the table.
  [[nodiscard]] Status Finish() const;

 private:
  enum class In : std::uint8_t { kCode, kQuotes, kComment };
  enum class Kind : std::uint8_t { kWord, kName, kText, kSign };
  // What is expected next.
  enum class At : std::uint8_t {
    kStatement,
    kEnd,  // of a statement that says nothing of the table
    kInsert,
    kInsertInto,  // behind the table's name
    kColumn,
    kValues,
    kRow,
    kValue,
    kValueEnd,
    kRowEnd,
    kCreate,
    kCreateTable,
    kCreateColumns,  // behind the table's name
    kDefinition,
    kDefinitionEnd,
  };

  Status Take(Kind kind, std::string_view text, std::vector<TrickleMessageRow>* rows);
  Status TakeValue(Kind kind, std::string_view text);
  Status TakeDefinition(Kind kind, std::string_view text);
  Status EndRow(std::vector<TrickleMessageRow>* rows);
  Status Keep(std::string_view text);
  // The name of a table, of which a database's may stand before.
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
  std::vector<TrickleColumn> created_;   // by the dump's CREATE TABLE
  std::vector<TrickleColumn> inserted_;  // of the statement
  std::uint64_t row_line_ = 0;
  std::vector<std::optional<std::string>> values_;
  bool found_ = false;
  std::set<std::string> others_;  // some of the other tables
  std::uint64_t rows_ = 0;
};

}  // namespace cobblestone::boinc
