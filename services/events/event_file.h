// Reads and writes files of events, item by item, with memory bounded whatever the length of the file.
//
// Three formats, each plain, gzip'ed or zstd-compressed, detected from the contents:
//   golden       lines of JSON; the first has a text field `ev` (services/boinc/golden_format.h)
//   JSON Lines   lines of JSON, one Envelope each, protobuf's JSON mapping (common/wire/json/json_lines.h)
//   delimited    records, each a varint with its length and an Envelope's bytes, as protobuf's
//                writeDelimitedTo writes them. No magic number, no end mark.
// A file is delimited if its first sixteen bytes contain a control byte other than tab, CR and LF. JSON has none, and
// an Envelope begins with the tag of its id, 0x08 (or of another field of its head; all these tags are below 0x20).
// The name of the file does not matter. A byte-order mark at the beginning of text is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/boinc/golden_format.h"
#include "services/events/event_lines.h"
#include "services/events/event_stream.h"
#include "services/events/foreign_file.h"

namespace cobblestone::events {

struct EventFileOptions {
  ProjectId project{1};  // for golden files, which name no project
  // Follows an uncompressed file that grows. Called with `at_end` at the current end of the file: it may wait a moment.
  // Called without `at_end` between pieces of the file: kStop ends the reading, other answers continue it. Empty: the
  // first end is the end. The file must have a whole line or record, or kForeignStartBytes, when it is opened.
  std::function<AtEnd(bool at_end)> follow{};
};

namespace event_file {
class Input;
}

// Owner: one thread at a time.
class EventFile final : public EventStream {
 public:
  // `path` "-": standard input. NotFound: the file cannot be opened. InvalidArgument: it is a directory, its
  // compression is damaged from the start, or its beginning shows that it is not a file of events (foreign_file.h). An
  // empty file has no events (JSON Lines).
  static Result<std::unique_ptr<EventFile>> Open(const std::string& path,
                                                 const EventFileOptions& options = {});
  ~EventFile() override;

  // The next item; false at the end. A line that is not an event is an item with a problem, and reading continues
  // behind it. An error ends the reading; all items before it were valid:
  //   InvalidArgument   with the file, and the byte, record or line: damaged or truncated compression; a record cut
  //                     off by the end of the file; an impossible length of a record, behind which no record can be
  //                     found; a golden file that ends without its line `end`
  //   Fatal             the disk reports an error
  // A golden line with a problem gives that one item; hosts and users that the line names first are announced even
  // so, so that later lines find them.
  Result<bool> Next(EventItem* item);
  Status ForEach(const std::function<Status(const EventItem&)>& take) override;

  [[nodiscard]] EventFormat format() const override { return format_; }
  [[nodiscard]] bool has_own_ticks() const override { return format_ == EventFormat::kGolden; }
  [[nodiscard]] std::uint64_t bytes_read() const override;
  [[nodiscard]] std::uint64_t bytes_total() const override;

 private:
  EventFile(std::string path, EventFileOptions options, std::unique_ptr<event_file::Input> input);

  Status Detect();
  [[nodiscard]] Status NotEvents(const Foreign& foreign) const;
  // The first line from *next on that is not blank; moves *next behind it and consumes nothing. The view is valid
  // until the next call.
  Result<std::string_view> LookAtLine(std::size_t* next);
  Result<bool> NextEvent(EventItem* item);
  Result<bool> NextGolden(EventItem* item);
  // The next line or record, blank lines too, is in splitter_; false at the end.
  Result<bool> NextLine();
  void KeepAnnouncements();

  std::string path_;
  EventFormat format_ = EventFormat::kJsonLines;
  std::unique_ptr<event_file::Input> input_;
  LineSplitter splitter_;
  LineDecoder decoder_;
  std::string raw_;  // golden: the line of the remaining items
  boinc::GoldenReader golden_;
  std::vector<boinc::GoldenItem> items_;
  std::size_t next_item_ = 0;
  std::string golden_problem_;  // reported after the announcements of its line
};

// Writes a file of events. Format by name: `.jsonl` and `.json` are JSON Lines, `.pb` and `.delimited` are delimited;
// `.gz` or `.zst` behind it compresses; "-" is standard output, JSON Lines. The same events give the same bytes.
class EventWriter {
 public:
  // InvalidArgument: the name has no known format, or the file cannot be written.
  static Result<std::unique_ptr<EventWriter>> Open(const std::string& path);
  ~EventWriter();

  // Writes bytes that are not an Envelope as well, for readers to refuse: verbatim, except that JSON Lines replace
  // control bytes by blanks, so that the line stays one line.
  Status Write(std::string_view envelope);
  // Flushes and closes. Without Close() the file is incomplete. Fatal: the disk is full, or another system error.
  Status Close();

  [[nodiscard]] EventFormat format() const { return format_; }

 private:
  class Output;
  EventWriter(EventFormat format, std::unique_ptr<Output> output);

  EventFormat format_;
  std::unique_ptr<Output> output_;
  std::string line_;
};

}  // namespace cobblestone::events
