// The events of a source: a file (event_file.h), or rows that are converted to events (adoption.h). Invariant: the
// same source gives the same items each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::events {

// A longer line or record cannot be an event. 1 MiB.
inline constexpr std::size_t kMaxEventBytes = 1u << 20;

// kRows: from rows of a project's database (adoption.h). kTrickles: from stored trickle messages (trickle_file.h).
enum class EventFormat : std::uint8_t { kGolden, kJsonLines, kDelimited, kRows, kTrickles };
std::string_view EventFormatName(EventFormat format);

// One event, one line that is not an event, or a barrier alone. The views are valid until the next call of Next().
struct EventItem {
  std::string_view envelope;  // empty: see `problem`; or a barrier alone
  // The line without its end, or the record, as in the file; for a line longer than kMaxEventBytes its beginning.
  // Golden: the same for all items of a line.
  std::string_view raw;
  // Not empty: the reason why `raw` is not an event, for people.
  std::string problem;
  // Of the file, from 0: lines (empty lines included) or records.
  std::uint64_t line = 0;
  // Golden: all stages must have drained before anything after this item is read.
  bool barrier = false;

  [[nodiscard]] bool bad() const { return !problem.empty(); }
};

// Owner: one thread at a time.
class EventStream {
 public:
  EventStream() = default;
  virtual ~EventStream() = default;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // All items in order; call it once. Ends early with the first status of `take` that is not Ok, or with an error;
  // all items before it were valid.
  virtual Status ForEach(const std::function<Status(const EventItem&)>& take) = 0;

  // A reading that waits for more events ends soon. Any thread.
  virtual void Stop() {}

  [[nodiscard]] virtual EventFormat format() const = 0;
  // The source has its own ticks (golden: ticks are lines). Otherwise ticks are generated from event times.
  [[nodiscard]] virtual bool has_own_ticks() const = 0;
  // For progress: compressed bytes read, and the size of the file; 0 if unknown (a pipe).
  [[nodiscard]] virtual std::uint64_t bytes_read() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes_total() const = 0;
};

}  // namespace cobblestone::events
