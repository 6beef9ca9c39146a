// Where the events of a source come from: a file (event_file.h), or rows that are made into events (adoption.h). The same
// source gives the same items, each time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

// kRows: made from the rows of a project's database (adoption.h). kTrickles: of stored trickle messages (trickle_file.h).
enum class EventFormat : std::uint8_t { kGolden, kJsonLines, kDelimited, kRows, kTrickles };
std::string_view EventFormatName(EventFormat format);

// One event, one line that is none, or a barrier alone. The views live until the next call of Next().
struct EventItem {
  std::string_view envelope;  // empty: see `problem`; or a barrier alone
  std::string_view
      raw;  // the line without its end, or the record, as it stands in the file; of a line that is
            // longer than kMaxEventBytes its beginning. Golden: the same for all items of
            // a line
  std::string problem;     // not empty: why `raw` is no event; for people
  std::uint64_t line = 0;  // of the file, from 0: lines (empty ones count, too) or records
  bool barrier = false;    // golden: all stages must have drained before anything from here on is read

  [[nodiscard]] bool bad() const { return !problem.empty(); }
};

// Owner: one thread at a time.
class EventStream {
 public:
  EventStream() = default;
  virtual ~EventStream() = default;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // All items in order, once. Ends early with what `take` returns, if that is no Ok, or with an error; all items before that
  // were good.
  virtual Status ForEach(const std::function<Status(const EventItem&)>& take) = 0;

  [[nodiscard]] virtual EventFormat format() const = 0;
  // It says itself when time passes (golden: ticks are lines of it). Otherwise ticks are made from event times.
  [[nodiscard]] virtual bool has_own_ticks() const = 0;
  // For progress: bytes of the file, compressed as they are, and its size; 0 where that is not known (a pipe).
  [[nodiscard]] virtual std::uint64_t bytes_read() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes_total() const = 0;
};

}  // namespace cobblestone
