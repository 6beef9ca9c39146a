// Files of events: read item by item with bounded memory, whatever their length, and written.
//
// Three formats, each plain, gzip'ed or as zstd, all told from the contents:
//   golden       lines of JSON; the first has a text field `ev` (services/boinc/golden_format.h)
//   JSON Lines   lines of JSON, one Envelope each, protobuf's JSON mapping (common/wire/events/json_lines.h)
//   delimited    records, each a varint with its length and an Envelope's bytes, as protobuf's
//                writeDelimitedTo makes them. No magic number, no end mark.
// Text or delimited: delimited if there is a control byte other than tab, CR and LF among the first sixteen
// bytes. JSON has none, and an Envelope begins with the tag of its id, 0x08 (or of another number of its
// head, all below 0x20).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/boinc/golden_format.h"
#include "services/events/event_stream.h"

namespace cobblestone {

// A longer line or record cannot be an event. 16 MiB.
inline constexpr std::size_t kMaxEventBytes = 1u << 20;

struct EventFileOptions {
  ProjectId project{1};  // golden files name none
};

namespace event_file {
class Input;
}

// Owner: one thread at a time.
class EventFile final : public EventStream {
 public:
  // `path` "-": standard input. NotFound where it cannot be opened; InvalidArgument where it is a folder, its
  // compression is damaged from the start, or its text is in UTF-16 or UTF-32. An empty file is one without events (JSON Lines).
  static Result<std::unique_ptr<EventFile>> Open(const std::string& path,
                                                 const EventFileOptions& options = {});
  ~EventFile() override;

  // The next item; false at the end. A line that is no event is an item with a problem, and reading goes on
  // behind it. An error ends the reading, and all items before it were good:
  //   InvalidArgument   with the file, and the byte, record or line: damaged or cut compression; a record cut off by the end
  //                     of the file; a record whose length cannot be, behind which nothing could be found any more; a golden
  //                     file that ends without its line `end`
  //   Fatal             the disk does not give it
  // A golden line with a problem gives that one item; hosts and users that it was the first to name are
  // announced all the same, so that later lines find them.
  Result<bool> Next(EventItem* item);
  Status ForEach(const std::function<Status(const EventItem&)>& take) override;

  [[nodiscard]] EventFormat format() const override { return format_; }
  [[nodiscard]] bool has_own_ticks() const override { return format_ == EventFormat::kGolden; }
  [[nodiscard]] std::uint64_t bytes_read() const override;
  [[nodiscard]] std::uint64_t bytes_total() const override;

 private:
  EventFile(std::string path, EventFileOptions options, std::unique_ptr<event_file::Input> input);

  Status Detect();
  Result<bool> NextJson(EventItem* item);
  Result<bool> NextGolden(EventItem* item);
  Result<bool> NextDelimited(EventItem* item);
  // The next line that is not empty: its bytes, or the beginning of one that is too long, which *problem then
  // says.
  Result<bool> NextLine(std::string_view* line, std::string* problem);
  void KeepAnnouncements();

  std::string path_;
  EventFormat format_ = EventFormat::kJsonLines;
  std::unique_ptr<event_file::Input> input_;
  std::uint64_t next_line_ = 0;
  std::uint64_t line_ = 0;  // of the line or record read last
  std::string envelope_;    // JSON: of the item told last
  std::string raw_;         // golden: the line of the items that are left
  boinc::GoldenReader golden_;
  std::vector<boinc::GoldenItem> items_;
  std::size_t next_item_ = 0;
  std::string golden_problem_;  // to be told after the announcements of its line
};

// Writes a file of events. Format by name: `.jsonl` and `.json` are JSON Lines, `.pb` and `.delimited` are
// delimited; `.gz` or `.zst` behind it compresses; "-" is standard output, JSON Lines. The same events give
// the same bytes.
class EventWriter {
 public:
  // InvalidArgument: a name of no known format, or a file that cannot be written.
  static Result<std::unique_ptr<EventWriter>> Open(const std::string& path);
  ~EventWriter();

  // Bytes that are no Envelope go into the file all the same, for readers to refuse: verbatim, but in JSON
  // Lines with control bytes as blanks, so that they stay one line.
  Status Write(std::string_view envelope);
  // Flushes and closes. Without it the file is not whole. Fatal: the disk is full, or what the system says.
  Status Close();

  [[nodiscard]] EventFormat format() const { return format_; }

 private:
  class Output;
  EventWriter(EventFormat format, std::unique_ptr<Output> output);

  EventFormat format_;
  std::unique_ptr<Output> output_;
  std::string line_;
};

}  // namespace cobblestone
