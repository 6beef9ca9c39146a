// Splits the bytes of a source into lines or delimited records, and reads each of them as an event. Files, files that
// grow and HTTP bodies use the same rules, so that the same bytes give the same lines, refusals and hashes, whatever
// the pieces in which the bytes arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/wire/json/json_lines.h"

namespace cobblestone::events {

enum class LineForm : std::uint8_t { kLines, kRecords };

// What follows the bytes that a LineSplitter sees.
enum class AtEnd : std::uint8_t {
  kReadOn,    // perhaps more bytes
  kComplete,  // nothing: what follows the last line end is a line
  kStop,      // nothing for this reader: what follows the last line end is left for another reader
};

// Length of the byte-order mark of UTF-8 at the beginning of a text; 0: there is none. The mark is not part of the first
// line, and no hash includes it.
std::size_t ByteOrderMarkBytes(std::string_view start);

bool IsBlank(std::string_view line);
// The problem of a line longer than kMaxEventBytes.
std::string LineTooLong();

// Owner: one thread at a time.
class LineSplitter {
 public:
  // `what`: the source in messages, such as "file". `first`: the number of the first line or record.
  LineSplitter(LineForm form, std::string_view what, std::uint64_t first = 0)
      : form_(form), what_(what), next_(first) {}

  enum class Found : std::uint8_t {
    kLine,
    kNeedsMore,  // more bytes behind `data`
    kEnd,
  };
  // The line or record at the beginning of `data`. The caller removes *consumed bytes from the beginning of `data`, for
  // kNeedsMore too, and continues behind them. InvalidArgument: no further record can be found in the bytes, because a
  // record is truncated or has an impossible length. All earlier records were good.
  Result<Found> Next(std::string_view data, AtEnd after, std::size_t* consumed);

  // Of the line or record found last. raw() is a part of `data`, or is valid until the next call.
  // Without the line end; empty for a blank line or a record without bytes. Of a line longer than kMaxEventBytes only
  // the beginning, 4 KiB.
  [[nodiscard]] std::string_view raw() const { return raw_; }
  [[nodiscard]] bool too_long() const { return too_long_; }
  [[nodiscard]] std::uint64_t number() const { return next_ - 1; }

 private:
  Found NextLine(std::string_view data, AtEnd after, std::size_t* consumed);
  Result<Found> NextRecord(std::string_view data, AtEnd after, std::size_t* consumed);
  Found Take(std::string_view line);
  [[nodiscard]] Status BadRecord(const std::string& problem, const std::string& remedy) const;

  LineForm form_;
  std::string what_;
  std::uint64_t next_;
  std::size_t looked_ = 0;  // bytes at the beginning of the data that have no line end
  bool too_long_ = false;
  bool skipping_ = false;  // in the rest of a line that is too long
  std::string kept_;       // its beginning
  std::string_view raw_;
};

// Reads lines or records as events. Owner: one thread at a time.
class LineDecoder {
 public:
  explicit LineDecoder(LineForm form) : form_(form) {}

  // The Envelope's bytes, valid until the next call, or a part of `raw`. Empty with a *problem: `raw` is not an event;
  // *problem is the reason, for people, at most about 300 bytes. Empty without a problem: a blank line.
  std::string_view Decode(std::string_view raw, bool too_long, std::string* problem);

 private:
  LineForm form_;
  std::unique_ptr<wire::JsonEventReader> json_ = std::make_unique<wire::JsonEventReader>();
  std::string envelope_;
};

}  // namespace cobblestone::events
