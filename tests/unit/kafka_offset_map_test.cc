// Offsets of messages and numbers of records, with gaps between offsets and several records in a message.
#include "services/kafka/offset_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace cobblestone::kafka {
namespace {

struct Sent {
  std::uint64_t offset = 0;
  std::uint64_t records = 0;
};

std::vector<Sent> RandomMessages(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Sent> all;
  std::uint64_t offset = random() % 3;
  for (int i = 0; i < 200; ++i) {
    all.push_back({.offset = offset, .records = random() % 3 == 0 ? 1 + random() % 5 : 1});
    offset += random() % 4 == 0 ? 1 + random() % 3 : 1;
  }
  return all;
}

// Counts the records one by one.
std::uint64_t RecordsBefore(const std::vector<Sent>& all, std::uint64_t offset) {
  std::uint64_t records = 0;
  for (const Sent& one : all)
    if (one.offset < offset) records += one.records;
  return records;
}

TEST(OffsetMap, CountsTheRecordsBeforeEachOffset) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Sent> all = RandomMessages(seed);
    OffsetMap map;
    for (const Sent& one : all) map.Add(one.offset, one.records);
    for (std::uint64_t offset = 0; offset <= all.back().offset + 2; ++offset)
      ASSERT_EQ(map.RecordAt(offset), RecordsBefore(all, offset)) << "seed " << seed << ", offset " << offset;
  }
}

TEST(OffsetMap, ContinuesAfterItWasSavedWithoutTheForgottenOffsets) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Sent> all = RandomMessages(seed);
    for (const std::size_t cut : {std::size_t{1}, std::size_t{80}, all.size() - 1}) {
      OffsetMap before;
      for (std::size_t i = 0; i < cut; ++i) before.Add(all[i].offset, all[i].records);
      const std::uint64_t needed = all[cut / 2].offset;
      before.ForgetBefore(needed);
      OffsetMap map = OffsetMap::FromJson(nlohmann::json::parse(before.ToJson().dump()));
      for (std::size_t i = cut; i < all.size(); ++i) map.Add(all[i].offset, all[i].records);
      for (std::uint64_t offset = needed; offset <= all.back().offset + 2; ++offset)
        ASSERT_EQ(map.RecordAt(offset), RecordsBefore(all, offset))
            << "seed " << seed << ", cut " << cut << ", offset " << offset;
    }
  }
}

TEST(OffsetMap, ForgetsWhatNobodyNeeds) {
  OffsetMap map;
  for (std::uint64_t offset = 0; offset < 100; offset += 2) map.Add(offset, 3);
  map.ForgetBefore(99);
  EXPECT_EQ(map.ToJson()["places"].size(), 0u);
  EXPECT_EQ(map.records(), 150u);
  EXPECT_EQ(map.RecordAt(99), 150u);
  map.Add(100, 2);
  EXPECT_EQ(map.RecordAt(100), 150u);
  EXPECT_EQ(map.RecordAt(101), 152u);
}

TEST(OffsetMap, DamagedTextThrows) {
  EXPECT_THROW(OffsetMap::FromJson(nlohmann::json::parse(R"({"records":1})")), nlohmann::json::exception);
}

}  // namespace
}  // namespace cobblestone::kafka
