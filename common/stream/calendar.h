// Subjects (numbers of a project) that are to be looked at again when a day is over: what is kept for a time goes without
// anybody searching for it.
//
// State: for each project a row that says which days have chunks, and chunks of at most kChunk numbers each, as
// differences. Filing touches one chunk; taking reads chunks in the order of days and filing.
// Invariant (the owner's): a subject is filed once for as long as it has something to lose.
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

// UNIX day of a UNIX time, s. A window may be of any length: days beyond all calendars are one day.
[[nodiscard]] std::int32_t DayOf(double time);

struct CalendarDay {
  std::uint32_t first = 0;  // chunk that is taken next
  std::uint32_t end = 0;    // chunks there are, and were
  std::uint64_t at = 0;     // bytes of the first chunk that are taken
  std::uint64_t last = 0;   // number taken last

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
  std::uint64_t last = 0;  // number filed last
  std::string numbers;     // varints: zigzag differences to the one before

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
  // For tests: rows of chunks in memory.
  Table<CalendarChunk>& chunks() { return chunks_; }

  // Days before 0 count as 0.
  void File(std::uint32_t project, std::int32_t day, std::uint64_t number);

  // What day it is for a project: a function of state that the owner keeps, told whenever that changes and after an open.
  // So all that is not stored here is a function of state, too, and a slot that is executed again takes the same.
  void SetToday(std::uint32_t project, std::int32_t today);
  // Something filed under a day before today is left.
  [[nodiscard]] bool behind() const { return !behind_.empty(); }
  // Takes up to `limit` numbers that were filed under days before today. visit(project, number, today) gives the day
  // under which it is filed again (today or later), or nothing.
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
  // Into taken_: up to `limit` numbers, at least one, of the oldest chunk.
  void Next(std::uint32_t project, std::size_t limit);

  Table<CalendarDays> days_;
  Table<CalendarChunk> chunks_;
  std::map<std::uint32_t, std::int32_t> today_;  // by project
  std::set<std::uint32_t> behind_;               // projects of which Due() is true
  std::vector<std::uint64_t> taken_;             // reused
};

}  // namespace cobblestone::stream
