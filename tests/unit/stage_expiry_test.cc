// Due rows expire in order of their keys, table by table, within the budget of a commit. The loss of the current
// place in a restart changes nothing.
#include "services/stage/expiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "common/stream/table.h"

namespace cobblestone::stage {
namespace {

using stream::Key;
using ::testing::ElementsAre;

struct Row {
  double due = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.due);
  }
};

struct World {
  stream::TableHost host;
  stream::Table<Row> first{host, {.id = 1}, false};
  stream::Table<Row> second{host, {.id = 2}, false};
  Expiry expiry;
  std::vector<std::uint64_t> expired;
  double next = 0;

  // Expires up to two rows. True: all rows of project 1 that are due before 100 have expired.
  bool Commit(std::uint64_t bytes_of_a_row = 1) {
    CommitBudget budget(2);
    expiry.Begin(1, 100);
    const auto due_at = [](const Key&, const Row& row) { return row.due; };
    const auto expire = [&](const Key& key, const Row&) {
      expired.push_back(key.id);
      return bytes_of_a_row;
    };
    const bool all =
        expiry.Rows(0, first, budget, due_at, expire) && expiry.Rows(1, second, budget, due_at, expire);
    if (all) next = expiry.End();
    return all;
  }
};

void Fill(World& world) {
  for (const std::uint64_t id : {5, 3, 1, 4, 2}) world.first.Mutable({.project = 1, .id = id}).due = 99;
  for (const std::uint64_t id : {12, 11}) world.second.Mutable({.project = 1, .id = id}).due = 50;
  world.first.Mutable({.project = 2, .id = 7}).due = 1;  // of another project
  world.first.Mutable({.project = 1, .id = 6}).due = 100;
  world.second.Mutable({.project = 1, .id = 13}).due = std::numeric_limits<double>::infinity();
}

TEST(Expiry, DueRowsExpireInOrderWithinTheBudget) {
  for (const bool restarts : {false, true}) {
    World world;
    Fill(world);
    for (int commit = 0; commit < 3; ++commit) {
      EXPECT_FALSE(world.Commit());
      EXPECT_EQ(world.expired.size(), 2u * (commit + 1));
      if (restarts) world.expiry = Expiry();
    }
    EXPECT_TRUE(world.Commit());
    EXPECT_THAT(world.expired, ElementsAre(1, 2, 3, 4, 5, 11, 12));
    EXPECT_EQ(world.next, 100);
    EXPECT_EQ(world.first.rows(), 2u);
    EXPECT_EQ(world.second.rows(), 1u);
    EXPECT_TRUE(world.Commit());
  }
}

TEST(Expiry, ACommitEndsWithTheRowThatExhaustsItsBytes) {
  World world;
  Fill(world);
  EXPECT_FALSE(world.Commit(CommitBudget::kBytes));
  EXPECT_THAT(world.expired, ElementsAre(1));
}

}  // namespace
}  // namespace cobblestone::stage
