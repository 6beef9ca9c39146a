// The trickle-up messages that BOINC's scheduler has stored, one after the other. Four forms, told from the first
// line that is not empty:
//
// table: rows of msg_from_host, one a line, columns separated by tabs.
//   `mysql --batch -e 'select * from msg_from_host order by id'`: the first line names the columns; any order,
//   needed are id, create_time, hostid, variety and xml, others are passed over (`handled` too: it says what
//   BOINC's handler has done).
//   `mysqldump --tab`: no such line; the columns are those of the table: id, create_time, hostid, variety,
//   handled, xml.
//   Escapes of both: \t \n \r \0 \b \Z \\, \N for NULL, and a backslash before a tab or the end of a line that
//   belongs to the text.
// bodies: what a trickle handler was given, each message within an element that says whose it is:
//     <msg_from_host id="7" create_time="1700000000" hostid="5" variety="orig">
//     (the body, as it was stored)
//     </msg_from_host>
//   The opening tag has a line of its own. The body goes up to the closing tag, whatever is in it (the scheduler
//   lets no closing tag into a body): so one that is broken spoils no other. Nothing but blank lines, or an XML
//   declaration and comments of one line, stands between the messages.
// dump: what mysqldump writes (trickle_dump.h).
// a body alone: another element at its beginning. The file is one message (bare_bodies.h).
//
// Bodies are not looked into (trickle_xml.h). A row that cannot be told apart from its neighbours is an error,
// and the file is not read further: what comes after would be guesswork.
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
  // `source`: for messages, the file's name.
  explicit TrickleRowReader(const std::string& source) : source_(source), dump_(source) {}

  // The next line, without its end; *rows becomes the messages that it completes. InvalidArgument, naming source, line
  // and what is wrong; the reader is then of no further use.
  Status ReadLine(std::string_view line, std::vector<TrickleMessageRow>* rows);
  // After the last line; *rows becomes the body that stood alone. InvalidArgument where a message is still open.
  Status Finish(std::vector<TrickleMessageRow>* rows);

  // The file is a body alone: its row has nothing else.
  [[nodiscard]] bool bare() const { return form_ == Form::kBare; }
  // What TrickleMessageRow::before counts, so far.
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
  std::string pending_;  // table: a row whose text goes on in the next line
  std::uint64_t begin_ = 0;
  std::optional<TrickleMessageRow> open_;  // bodies
  TrickleDumpReader dump_;
  std::uint64_t dumped_ = 0;  // rows
  std::string bare_;          // the file so far, until it is known to be something else
};

// Where a message of several files stands.
struct TrickleFilePlace {
  std::string file;
  std::uint64_t counted_before = 0;  // of the files before this one, as TrickleMessageRow::before
  std::uint64_t bytes_read = 0;      // of all files so far, compressed as they are
};

// The files of a folder, in the order of their names; where anything was said of bodies that stand alone, in the order in
// which they came, so that a new one comes behind those that were there, and then of their names.
Result<std::vector<std::string>> TrickleFilesOf(const std::string& folder, const BareBodies& bare);

// Every message of a file, plain or gzip'ed, or of each file of a folder in their order, to `take`.
// Stops at the first error, that of the form, of a file, or of `take`.
Status ReadTrickleMessages(
    const std::string& path, const BareBodies& bare,
    const std::function<Status(const TrickleFilePlace&, const TrickleMessageRow&)>& take);

}  // namespace cobblestone::boinc
