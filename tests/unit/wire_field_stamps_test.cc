// Partial events: for each field, the newest event that sets the field counts, in any order of arrival.
#include "common/wire/events/field_stamps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace cobblestone::wire {
namespace {

struct PartialEvent {
  EventStamp stamp;
  FieldMask fields = 0;
};

constexpr int kFields = 3;
constexpr FieldMask kAll = FieldsTo(kFields);

// For each field, the id of the event that set the field; 0: none.
std::array<std::uint64_t, kFields> Applied(const std::vector<PartialEvent>& events) {
  std::array<std::uint64_t, kFields> values{};
  EventStamp newest;
  FieldStamps earlier;
  for (const PartialEvent& one : events) {
    const FieldMask newer = NewerFields(one.stamp, one.fields, newest, earlier);
    EXPECT_EQ(newer & ~one.fields, 0u);
    StampFields(one.stamp, one.fields, kAll, &newest, &earlier);
    EXPECT_EQ(NewerFields(one.stamp, one.fields, newest, earlier), 0u) << "a repeat sets no field";
    for (int i = 0; i < kFields; ++i)
      if ((newer & FieldBit(i + 1)) != 0) values[static_cast<std::size_t>(i)] = one.stamp.id;
    FieldMask seen = 0;
    for (const EarlierFields& one_of : earlier) {
      EXPECT_NE(one_of.fields, 0u);
      EXPECT_EQ(seen & one_of.fields, 0u);
      seen |= one_of.fields;
    }
  }
  return values;
}

std::array<std::uint64_t, kFields> Newest(const std::vector<PartialEvent>& events) {
  std::map<std::pair<double, std::uint64_t>, FieldMask> by_time;
  for (const PartialEvent& one : events) by_time[{one.stamp.time, one.stamp.id}] = one.fields;
  std::array<std::uint64_t, kFields> values{};
  for (const auto& [when, fields] : by_time)
    for (int i = 0; i < kFields; ++i)
      if ((fields & FieldBit(i + 1)) != 0) values[static_cast<std::size_t>(i)] = when.second;
  return values;
}

// All sets of fields of four events, in all orders. Two events have the same time; of these, the event with the
// larger id is newer.
TEST(FieldStamps, ForEachFieldTheNewestEventCountsInAnyOrder) {
  for (unsigned sets = 0; sets < 8 * 8 * 8 * 8; ++sets) {
    std::vector<PartialEvent> events;
    for (unsigned i = 0; i < 4; ++i)
      events.push_back(
          {.stamp = {.id = i + 1, .time = i < 2 ? 1.0 : i, .hash = i}, .fields = (sets >> (3 * i) & 7) << 1});
    const auto expected = Newest(events);
    std::array<unsigned, 4> order = {0, 1, 2, 3};
    do {
      std::vector<PartialEvent> reordered;
      for (const unsigned i : order) reordered.push_back(events[i]);
      ASSERT_EQ(Applied(reordered), expected) << sets;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(FieldStamps, CompleteEventsLeaveOnlyTheNewestStamp) {
  EventStamp newest;
  FieldStamps earlier;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    StampFields({.id = id, .time = 1, .hash = 0}, kAll, kAll, &newest, &earlier);
    EXPECT_TRUE(earlier.empty());
    EXPECT_EQ(newest.id, id);
  }
  StampFields({.id = 9, .time = 0, .hash = 0}, kAll, kAll, &newest, &earlier);
  EXPECT_TRUE(earlier.empty());
  EXPECT_EQ(newest.id, 3u);
}

}  // namespace
}  // namespace cobblestone::wire
