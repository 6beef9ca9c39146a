// The trickle-up messages that BOINC's scheduler has stored, one after the other. Two forms, told from the first
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

  friend bool operator==(const TrickleMessageRow&, const TrickleMessageRow&) = default;
};

class TrickleRowReader {
 public:
  // `source`: for messages, the file's name.
  explicit TrickleRowReader(std::string source) : source_(std::move(source)) {}

  // The next line, without its end; *row is set where it completes one. InvalidArgument, naming source, line
  // and what is wrong; the reader is then of no further use.
  Status ReadLine(std::string_view line, std::optional<TrickleMessageRow>* row);
  // After the last line: InvalidArgument where a message is still open.
  Status Finish() const;

 private:
  enum class Form { kUnknown, kTable, kBodies };
  enum Column : std::uint8_t { kId, kCreateTime, kHostId, kVariety, kXml, kOther };

  Status ReadTableLine(std::string_view line, std::optional<TrickleMessageRow>* row);
  Status ReadHeader(const std::vector<std::optional<std::string>>& names);
  Status ReadBodyLine(std::string_view line, std::optional<TrickleMessageRow>* row);
  Status ReadOpeningTag(std::string_view line);
  Status SetColumn(Column column, const std::optional<std::string>& value, TrickleMessageRow* row) const;
  [[nodiscard]] Status Error(std::uint64_t line, const std::string& what) const;

  std::string source_;
  Form form_ = Form::kUnknown;
  std::uint64_t line_ = 0;
  std::vector<Column> columns_;
  std::string pending_;  // table: a row whose text goes on in the next line
  std::uint64_t begin_ = 0;
  std::optional<TrickleMessageRow> open_;  // bodies
};

// Where a message of several files stands.
struct TrickleFilePlace {
  std::string file;
  std::uint64_t lines_before = 0;  // of the files before this one
  std::uint64_t bytes_read = 0;    // of all files so far, compressed as they are
};

// The files of a folder, in the order of their names.
Result<std::vector<std::string>> TrickleFilesOf(const std::string& folder);

// Every message of a file, plain or gzip'ed, or of each file of a folder in the order of their names, to `take`.
// Stops at the first error, that of the form, of a file, or of `take`.
Status ReadTrickleMessages(
    const std::string& path,
    const std::function<Status(const TrickleFilePlace&, const TrickleMessageRow&)>& take);

}  // namespace cobblestone::boinc
