// The trickle-up messages that BOINC's scheduler has stored, in sequence. Four forms, detected from the first
// non-empty line:
//
// table: rows of msg_from_host, one per line, columns separated by tabs.
//   `mysql --batch -e 'select * from msg_from_host order by id'`: the first line names the columns, in any
//   order; required are id, create_time, hostid, variety and xml, others are skipped (also `handled`, the
//   status of BOINC's own handler).
//   `mysqldump --tab`: no line of names; the columns are the table's: id, create_time, hostid, variety,
//   handled, xml.
//   Escapes of both: \t \n \r \0 \b \Z \\, \N for NULL, and a backslash before a tab or line end that belongs
//   to the text.
// bodies: the input of a trickle handler, each message inside an element that identifies it:
//     <msg_from_host id="7" create_time="1700000000" hostid="5" variety="orig">
//     (the body, as it was stored)
//     </msg_from_host>
//   The opening tag has a line of its own. The body extends to the closing tag, whatever it contains (the
//   scheduler lets no closing tag into a body), so that a malformed body does not affect others. Between
//   messages only blank lines, an XML declaration and one-line comments are allowed.
// dump: output of mysqldump (trickle_dump.h). a body alone: any other element at the beginning. The file is one
// message (bare_bodies.h).
//
// Bodies are not parsed here (trickle_xml.h). A row that cannot be separated from its neighbours is an error,
// and reading stops: the rest of the file would be guesswork.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/boinc/bare_bodies.h"
#include "services/boinc/trickle_dump.h"
#include "services/boinc/trickle_table.h"

namespace cobblestone::boinc {

class TrickleRowReader {
 public:
  // `source`: name of the file, for messages.
  explicit TrickleRowReader(const std::string& source) : source_(source), dump_(source) {}

  // The next line, without its end; sets *rows to the messages that the line completes. InvalidArgument, with
  // source, line and problem; the reader must not be used again.
  Status ReadLine(std::string_view line, std::vector<TrickleMessageRow>* rows);
  // Call it after the last line; sets *rows to the body of a file with a body alone.
  // InvalidArgument: a message is still open.
  Status Finish(std::vector<TrickleMessageRow>* rows);

  // True if the file is a body alone: its row has no other fields.
  [[nodiscard]] bool bare() const { return form_ == Form::kBare; }
  // Current value of the count in TrickleMessageRow::before.
  [[nodiscard]] std::uint64_t counted() const { return form_ == Form::kDump ? dumped_ : line_; }

 private:
  enum class Form { kUnknown, kTable, kBodies, kDump, kBare };

  void Detect(std::string_view line);
  Status ReadTableLine(std::string_view line, std::vector<TrickleMessageRow>* rows);
  Status ReadHeader(const std::vector<std::optional<std::string>>& names);
  Status ReadBodyLine(std::string_view line, std::vector<TrickleMessageRow>* rows);
  Status ReadOpeningTag(std::string_view line);
  Status ReadBareLine(std::string_view line);
  [[nodiscard]] Status Error(std::uint64_t line, const std::string& what) const;

  std::string source_;
  Form form_ = Form::kUnknown;
  std::uint64_t line_ = 0;
  std::vector<TrickleColumn> columns_;
  std::string pending_;  // table: a row that continues in the next line
  std::uint64_t begin_ = 0;
  std::optional<TrickleMessageRow> open_;  // bodies
  TrickleDumpReader dump_;
  std::uint64_t dumped_ = 0;  // rows
  // Contents of the file so far, until another form is detected.
  std::string bare_;
};

// Place of a message among several files.
struct TrickleFilePlace {
  std::string file;
  // Count over the earlier files, in the unit of TrickleMessageRow::before.
  std::uint64_t counted_before = 0;
  std::uint64_t bytes_read = 0;  // compressed bytes of all files so far
};

// The files of a directory in order of name; if options for bare bodies are given, in order of arrival time,
// then name, so that a new file follows the earlier ones.
Result<std::vector<std::string>> TrickleFilesOf(const std::string& folder, const BareBodies& bare);

// Passes every message of a file, plain or gzip'ed, or of each file of a directory in order, to `take`. Stops
// at the first error: of the form, a file, or `take`.
Status ReadTrickleMessages(
    const std::string& path, const BareBodies& bare,
    const std::function<Status(const TrickleFilePlace&, const TrickleMessageRow&)>& take);

}  // namespace cobblestone::boinc
