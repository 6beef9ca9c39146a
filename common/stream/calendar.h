// Calendar of subjects (numbers within a project) that the owner must re-examine when a day is over, so that
// expired data is found without a scan.
//
// State: one row per project that lists the days with chunks, and chunks of at most kChunk delta-encoded
// numbers. File() touches one chunk. Take() reads chunks by day, then in the order of filing.
// Invariant (kept by the owner): a subject is filed exactly once while it has data that can expire.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/stream/table.h"

namespace cobblestone::stream {

// UNIX day of a UNIX time in s. All days outside the calendar's range are clamped, so windows may have any
// length.
[[nodiscard]] std::int32_t DayOf(double time);

struct CalendarDay {
  std::uint32_t first = 0;  // next chunk to take
  std::uint32_t end = 0;    // number of the next chunk to write
  std::uint64_t at = 0;     // bytes of the first chunk that are already taken
  std::uint64_t last = 0;   // last number taken

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.first, s.end, s.at, s.last);
  }
};

struct CalendarDays {
  std::map<std::uint32_t, CalendarDay> days;  // by UNIX day

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.days);
  }
};

struct CalendarChunk {
  std::uint32_t count = 0;
  std::uint64_t last = 0;  // last number filed
  std::string numbers;     // varints: zigzag differences to the previous number

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.count, s.last, s.numbers);
  }
};

class Calendar {
 public:
  static constexpr std::uint32_t kChunk = 1024;

  Calendar(TableHost& host, std::uint8_t days_table, std::uint8_t chunks_table)
      : days_(host, {.id = days_table}, true), chunks_(host, {.id = chunks_table}, false) {}

  [[nodiscard]] std::vector<TableBase*> tables() { return {&days_, &chunks_}; }
  // For tests: the chunk rows in memory.
  Table<CalendarChunk>& chunks() { return chunks_; }

  // Days before 0 count as 0.
  void File(std::uint32_t project, std::int32_t day, std::uint64_t number);

  // Sets a project's current day. The day must be a function of the owner's state; the owner calls SetToday()
  // whenever the day changes and after an open. All derived data is then a function of state too, so
  // re-execution takes the same numbers.
  void SetToday(std::uint32_t project, std::int32_t today);
  // True while a number filed under a day before today is left.
  [[nodiscard]] bool behind() const { return !behind_.empty(); }
  // Takes up to `limit` numbers filed under days before today. visit(project, number, today) returns the day
  // under which to file the number again (today or later), or nothing.
  template <class Visit>
  void Take(std::size_t limit, Visit&& visit) {
    while (limit > 0 && !behind_.empty()) {
      const std::uint32_t project = *behind_.begin();
      const std::int32_t today = today_[project];
      Next(project, limit);
      limit -= taken_.size();
      for (const std::uint64_t number : taken_)
        if (const std::optional<std::int32_t> day = visit(project, number, today))
          File(project, std::max(*day, today), number);
      if (!Due(project, today)) behind_.erase(project);
    }
  }

 private:
  [[nodiscard]] bool Due(std::uint32_t project, std::int32_t today);
  // Fills taken_ with at least one and up to `limit` numbers of the oldest chunk.
  void Next(std::uint32_t project, std::size_t limit);

  Table<CalendarDays> days_;
  Table<CalendarChunk> chunks_;
  std::map<std::uint32_t, std::int32_t> today_;  // by project
  std::set<std::uint32_t> behind_;               // projects with Due() true
  std::vector<std::uint64_t> taken_;             // reused
};

}  // namespace cobblestone::stream
