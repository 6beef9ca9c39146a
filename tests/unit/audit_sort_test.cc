// The audit's external sort returns the same entries in the same order with any memory limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <vector>

#include "services/audit/spill_sort.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using audit::SpillSort;

namespace {

using ::testing::HasSubstr;

struct Number {
  std::uint64_t value;
  friend bool operator<(const Number& a, const Number& b) { return a.value < b.value; }
};

struct Sum {
  std::uint64_t key;
  std::uint64_t sum;
  friend bool operator<(const Sum& a, const Sum& b) { return a.key < b.key; }
  friend void Absorb(Sum& to, const Sum& from) { to.sum += from.sum; }
};

TEST(SpillSort, SortsWithAnyMemoryLimit) {
  const testing::TempDir dir;
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> numbers(1500);
  for (std::uint64_t& number : numbers) number = random() % 700;  // with repetitions
  std::vector<std::uint64_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  // With 2 entries in memory, 64 files are merged into one 11 times; with 1,501 there is no file.
  for (const std::size_t entries : {2u, 100u, 1499u, 1500u, 1501u}) {
    SpillSort<Number> sort({.directory = dir.path(), .entries = entries});
    for (const std::uint64_t number : numbers) sort.Add({number});
    EXPECT_EQ(sort.files() == 0, entries > numbers.size());
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));  // a crash leaves nothing behind
    std::vector<std::uint64_t> out;
    ASSERT_TRUE(sort.ForEach([&](const Number& number) {
                      out.push_back(number.value);
                      return Status::Ok();
                    })
                    .ok());
    EXPECT_EQ(out, sorted) << entries;
  }
}

TEST(SpillSort, EqualEntriesAreMerged) {
  const testing::TempDir dir;
  for (const std::size_t entries : {20u, 250u, 100000u}) {
    std::mt19937_64 random(2);
    std::map<std::uint64_t, std::uint64_t> expected;
    SpillSort<Sum> sort({.directory = dir.path(), .entries = entries});
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const std::uint64_t key = random() % 300;
      expected[key] += i;
      sort.Add({.key = key, .sum = i});
    }
    std::map<std::uint64_t, std::uint64_t> sums;
    ASSERT_TRUE(sort.ForEach([&](const Sum& one) {
                      EXPECT_TRUE(sums.emplace(one.key, one.sum).second) << one.key;
                      return Status::Ok();
                    })
                    .ok());
    EXPECT_EQ(sums, expected) << entries;
  }
}

// 300 keys fit into 1,000 entries, however often each key is added.
TEST(SpillSort, RepeatedKeysNeedNoFile) {
  const testing::TempDir dir;
  SpillSort<Sum> sort({.directory = dir.path(), .entries = 1000});
  for (std::uint64_t i = 0; i < 100000; ++i) sort.Add({.key = i % 300, .sum = 1});
  EXPECT_EQ(sort.files(), 0u);
}

TEST(SpillSort, AVisitorEndsTheVisits) {
  const testing::TempDir dir;
  SpillSort<Number> sort({.directory = dir.path(), .entries = 10});
  for (std::uint64_t i = 0; i < 100; ++i) sort.Add({i});
  std::uint64_t visits = 0;
  const Status s = sort.ForEach([&](const Number& number) {
    return ++visits, number.value < 42 ? Status::Ok() : Status::NotFound("enough");
  });
  EXPECT_EQ(s.code(), StatusCode::kNotFound);
  EXPECT_EQ(visits, 43u);
}

TEST(SpillSort, AFileThatCannotBeWrittenIsReported) {
  const testing::TempDir dir;
  SpillSort<Number> sort({.directory = dir / "missing", .entries = 10});
  for (std::uint64_t i = 0; i < 9; ++i) sort.Add({i});
  EXPECT_TRUE(sort.status().ok());
  sort.Add({9});
  EXPECT_THAT(sort.status().message(), HasSubstr("missing"));
  EXPECT_FALSE(sort.ForEach([](const Number&) { return Status::Ok(); }).ok());
}

}  // namespace
}  // namespace cobblestone
