#include "common/wire/events/field_stamps.h"

#include <algorithm>
#include <tuple>

namespace cobblestone::wire {
namespace {

bool IsNewer(const EventStamp& stamp, const EarlierFields& than) {
  return std::tie(stamp.time, stamp.id) > std::tie(than.time, than.id);
}

bool IsNewest(const EventStamp& stamp, const EventStamp& newest) {
  return CompareStamps(stamp, newest) == StampOrder::kNewer;
}

}  // namespace

FieldMask NewerFields(const EventStamp& stamp, FieldMask present, const EventStamp& newest,
                      const FieldStamps& earlier) {
  if (IsNewest(stamp, newest)) return present;
  if (stamp.id == newest.id) return 0;
  FieldMask news = 0;
  for (const EarlierFields& one : earlier)
    if (IsNewer(stamp, one)) news |= one.fields & present;
  return news;
}

void StampFields(const EventStamp& stamp, FieldMask present, FieldMask all, EventStamp* newest,
                 FieldStamps* earlier) {
  const FieldMask news = NewerFields(stamp, present, *newest, *earlier);
  EarlierFields kept{.fields = news, .time = stamp.time, .id = stamp.id};
  const bool is_newest = IsNewest(stamp, *newest);
  if (is_newest) kept = {.fields = all & ~present, .time = newest->time, .id = newest->id};
  for (EarlierFields& one : *earlier) {
    one.fields &= ~news;
    if (is_newest) kept.fields &= ~one.fields;
  }
  std::erase_if(*earlier, [](const EarlierFields& one) { return one.fields == 0; });
  if (is_newest) *newest = stamp;
  if (kept.fields == 0) return;
  const auto older = [](const EarlierFields& a, const EarlierFields& b) {
    return std::tie(a.time, a.id) < std::tie(b.time, b.id);
  };
  const auto place = std::upper_bound(earlier->begin(), earlier->end(), kept, older);
  if (place != earlier->begin() && std::prev(place)->id == kept.id && std::prev(place)->time == kept.time)
    std::prev(place)->fields |= kept.fields;
  else
    earlier->insert(place, kept);
}

}  // namespace cobblestone::wire
