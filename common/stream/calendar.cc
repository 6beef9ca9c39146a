#include "common/stream/calendar.h"

#include <algorithm>
#include <cmath>

namespace cobblestone::stream {
namespace {

Key DaysKey(std::uint32_t project) { return {.project = project, .id = 0, .sub = 0}; }
Key ChunkKey(std::uint32_t project, std::uint32_t day, std::uint32_t chunk) {
  return {.project = project, .id = day, .sub = chunk};
}

}  // namespace

std::int32_t DayOf(double time) {
  return static_cast<std::int32_t>(std::clamp(std::floor(time / 86400), -1e9, 1e9));
}

void Calendar::File(std::uint32_t project, std::int32_t day, std::uint64_t number) {
  const auto filed = static_cast<std::uint32_t>(std::max(day, 0));
  std::uint32_t end = 0;
  if (const CalendarDays* all = days_.Find(DaysKey(project)))
    if (const auto known = all->days.find(filed); known != all->days.end()) end = known->second.end;
  // The row of days changes only when a new chunk begins.
  CalendarChunk* chunk = end == 0 ? nullptr : &chunks_.Mutable(ChunkKey(project, filed, end - 1));
  if (chunk == nullptr || chunk->count >= kChunk) {
    days_.Mutable(DaysKey(project)).days[filed].end = end + 1;
    chunk = &chunks_.Mutable(ChunkKey(project, filed, end));
  }
  const auto difference = static_cast<std::int64_t>(number - chunk->last);
  auto rest = static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63);
  for (; rest >= 0x80; rest >>= 7) chunk->numbers.push_back(static_cast<char>(rest | 0x80));
  chunk->numbers.push_back(static_cast<char>(rest));
  chunk->last = number;
  ++chunk->count;
  // Filed under a past day: the day is due at once, as SetToday() would determine.
  if (const auto today = today_.find(project);
      today != today_.end() && static_cast<std::int64_t>(filed) < today->second)
    behind_.insert(project);
}

void Calendar::SetToday(std::uint32_t project, std::int32_t today) {
  today_[project] = today;
  if (Due(project, today)) behind_.insert(project);
}

bool Calendar::Due(std::uint32_t project, std::int32_t today) {
  const CalendarDays* all = days_.Find(DaysKey(project));
  return all != nullptr && !all->days.empty() && static_cast<std::int64_t>(all->days.begin()->first) < today;
}

void Calendar::Next(std::uint32_t project, std::size_t limit) {
  taken_.clear();
  CalendarDays& all = days_.Mutable(DaysKey(project));
  const auto oldest = all.days.begin();
  CalendarDay& day = oldest->second;
  const Key key = ChunkKey(project, oldest->first, day.first);
  const CalendarChunk* chunk = &chunks_.Need(key);
  if (day.at >= chunk->numbers.size())
    chunks_.Damaged(key, "the row has fewer numbers than were read from it");
  while (day.at < chunk->numbers.size() && taken_.size() < limit) {
    std::uint64_t rest = 0;
    for (int shift = 0; day.at < chunk->numbers.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(chunk->numbers[day.at++]);
      if (shift > 63) chunks_.Damaged(key, "a number in the row cannot be decoded");
      rest |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    day.last += (rest >> 1) ^ (~(rest & 1) + 1);
    taken_.push_back(day.last);
  }
  if (day.at < chunk->numbers.size()) return;
  chunks_.Erase(key);
  day.at = 0;
  day.last = 0;
  if (++day.first == day.end) all.days.erase(oldest);
}

}  // namespace cobblestone::stream
