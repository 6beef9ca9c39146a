// Rows that wait for another event are counted, evicted like other rows, and read back on demand; absent rows of other
// tables are rarely looked for. No result depends on the rows that are in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/store/store.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream {
namespace {

using ::testing::ElementsAre;

struct Row {
  std::string text;

  void Clear() { text.clear(); }
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.text);
  }
};

constexpr TableSpec<Row> kSpec{.id = 1};
constexpr std::uint64_t kRows = 1000;

Key KeyOf(std::uint64_t id, std::uint32_t project = 1) { return {.project = project, .id = id, .sub = 0}; }

class MapStore final : public store::Store {
 public:
  std::map<std::string, std::string> rows;
  std::string meta;

  Status Get(std::string_view key, std::string* value) const override {
    const auto found = rows.find(std::string(key));
    if (found == rows.end()) return Status::NotFound("no such row");
    *value = found->second;
    return Status::Ok();
  }
  Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const override {
    for (auto at = rows.lower_bound(std::string(from)); at != rows.end() && at->first.starts_with(prefix);
         ++at)
      if (Status s = visit(at->first, at->second); !s.ok()) return s;
    return Status::Ok();
  }
  Result<std::string> Meta() const override {
    if (meta.empty()) return Status::NotFound("a new store");
    return meta;
  }
  Status Apply(const std::vector<store::Row>& changes, std::string_view place) override {
    for (const store::Row& row : changes) {
      if (row.deleted)
        rows.erase(std::string(row.key));
      else
        rows[std::string(row.key)] = row.value;
    }
    meta = place;
    return Status::Ok();
  }
  std::unique_ptr<const store::Reader> Snapshot() const override { return nullptr; }
  Status Checkpoint(const std::string&) override { return Status::Ok(); }
  Status VerifyBeyond(const std::string&) const override { return Status::Ok(); }
  std::uint64_t disk_bytes() const override { return 0; }
};

// A record is an operation on the row of a number: "+17" writes the row, "-17" erases the row, "?17" finds the
// row, "*1" walks the rows of a project. The found text is the output.
class Keeper final : public Stage {
 public:
  Keeper(TableHost& host, bool waits) : rows_(host, kSpec, false) {
    if (waits) rows_.MarkWaiting("letters");
  }
  void Process(std::size_t, const RecordView& record, Emitter& out) override {
    const std::uint64_t number = std::stoull(std::string(record.value.substr(1)));
    const Key key = KeyOf(number, 1 + number % 2);
    std::string found;
    switch (record.value[0]) {
      case '+': rows_.Mutable(key).text += std::string(90, 'x') + std::to_string(record.offset); return;
      case '-': return rows_.Erase(key);
      case '?':
        if (const Row* row = rows_.Find(key)) found = row->text;
        break;
      default: {
        std::vector<std::pair<Key, std::string>> all;
        rows_.WalkProject(static_cast<std::uint32_t>(number),
                          [&](const Key& one, const Row& row) { all.emplace_back(one, row.text); });
        std::sort(all.begin(), all.end());
        for (const auto& [one, text] : all) found += std::to_string(one.id) + text;
      }
    }
    out.Emit(0, 0, found);
  }
  std::vector<TableBase*> tables() override { return {&rows_}; }
  Table<Row>& rows() { return rows_; }

 private:
  Table<Row> rows_;
};

struct World {
  // Opens the state in the store.
  explicit World(MapStore* opened, std::uint64_t waiting_bytes = 0, bool waits = true)
      : store(opened), slot({.id = 0, .topics = {{.name = "found", .partitions = 1}}}, host) {
    auto stage = std::make_unique<Keeper>(host, waits);
    keeper = stage.get();
    slot.AddStage(std::move(stage), {{.topic = 0, .partition = 0}});
    EXPECT_TRUE(slot.Open(opened, waiting_bytes).ok());
  }
  void Do(const std::string& what) {
    const Status s = slot.Process(
        0, {.where = {0, 0}, .offset = slot.next(0), .append_time = 0, .line = 0, .value = what});
    ASSERT_TRUE(s.ok()) << s.message();
  }
  // Commits one record and returns its output.
  std::string CommitOne(const std::string& what) {
    Do(what);
    auto commit = slot.Finish();
    EXPECT_TRUE(commit.ok());
    return commit->outputs.empty() ? std::string() : commit->outputs[0].payload;
  }
  void Fill() {
    for (std::uint64_t id = 1; id <= kRows; ++id) Do("+" + std::to_string(id));
    ASSERT_TRUE(slot.Finish().ok());
  }
  std::unique_ptr<StateWrite> BeginWrite() {
    slot.BeginStateWrite();
    while (!slot.GatherStateWrite(100)) {
    }
    return slot.TakeStateWrite();
  }
  void EndWrite(const StateWrite& write) {
    ASSERT_TRUE(ApplyStateWrite(write, *store).ok());
    slot.StateWriteApplied();
  }
  void Write() { EndWrite(*BeginWrite()); }

  MapStore* store;
  TableHost host;
  Slot slot;
  Keeper* keeper = nullptr;
};

TEST(WaitingRows, AreCountedWhenEvictedAndReadBackOnDemand) {
  MapStore store;
  World world(&store);
  world.Fill();
  world.Write();
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : store.rows) bytes += value.size();
  const WaitingRows all{.kind = "letters", .rows = kRows, .bytes = bytes};
  EXPECT_THAT(world.slot.waiting(), ElementsAre(all));
  EXPECT_GT(world.slot.cached_bytes(), kRows * 100);
  world.slot.Evict(0);
  EXPECT_EQ(world.slot.cached_bytes(), 0u);
  EXPECT_EQ(world.keeper->rows().outside(), kRows);
  EXPECT_THAT(world.slot.waiting(), ElementsAre(all));
  for (std::uint64_t id = 1; id <= kRows; id += 2) {
    EXPECT_NE(world.CommitOne("?" + std::to_string(id)).find(std::string(90, 'x')), std::string::npos) << id;
    world.CommitOne("-" + std::to_string(id));
  }
  EXPECT_EQ(world.slot.waiting()[0].rows, kRows / 2);
  EXPECT_EQ(world.keeper->rows().outside(), kRows / 2);
  world.Write();
  world.slot.Evict(0);
  EXPECT_EQ(store.rows.size(), kRows / 2);
  EXPECT_EQ(world.slot.waiting()[0].rows, kRows / 2);
  EXPECT_EQ(world.slot.cached_objects(), 0u);
  std::uint64_t left = 0;
  world.keeper->rows().Walk([&](const Key& key, const Row&) { left += key.id % 2 == 0 ? 1 : kRows; });
  EXPECT_EQ(left, kRows / 2);
  EXPECT_EQ(world.slot.cached_objects(), 0u) << "a walk fills no memory";
}

// The first event of each result looks up an absent row.
TEST(WaitingRows, TheStoreIsRarelyReadForAbsentRows) {
  MapStore store;
  for (const bool opened : {false, true}) {
    World world(&store);
    const auto reads = [&](std::uint64_t first, std::uint64_t end) {
      const std::uint64_t before = world.slot.store_reads();
      for (std::uint64_t id = first; id < end; ++id) world.CommitOne("?" + std::to_string(id));
      return world.slot.store_reads() - before;
    };
    if (!opened) {
      world.Fill();
      world.Write();
      EXPECT_EQ(reads(5000, 6000), 0u);
      world.slot.Evict(0);
    }
    const std::uint64_t misses = reads(5000, 6000);
    EXPECT_GT(misses, 0u);
    EXPECT_LT(misses, 350u);
    EXPECT_EQ(reads(1, kRows + 1), kRows);
    EXPECT_EQ(reads(6000, 7000), 0u);
  }
}

TEST(WaitingRows, TheFilterGrowsWithTheRowsAndForgetsNone) {
  constexpr std::uint64_t kMany = 100000;
  MapStore store;
  World world(&store);
  for (std::uint64_t id = 1; id <= kMany; ++id) {
    world.Do("+" + std::to_string(id));
    if (id % 1000 != 0) continue;
    ASSERT_TRUE(world.slot.Finish().ok());
    world.Write();
    world.slot.Evict(0);
    // Some rows are in memory when other rows are evicted.
    for (std::uint64_t back = 1; back < id; back += 100) world.Do("?" + std::to_string(back));
    ASSERT_TRUE(world.slot.Finish().ok());
  }
  for (std::uint64_t id = 1; id <= kMany; ++id)
    ASSERT_NE(world.keeper->rows().Find(KeyOf(id, 1 + id % 2)), nullptr) << id;
  EXPECT_EQ(world.keeper->rows().outside(), 0u);
}

TEST(WaitingRows, ShortLivedRowsBetweenStateWritesUseNoMemory) {
  MapStore store;
  World world(&store);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t id = 1; id <= kRows; ++id) world.CommitOne("+" + std::to_string(id));
    for (std::uint64_t id = 1; id <= kRows; ++id) world.CommitOne("-" + std::to_string(id));
    EXPECT_EQ(world.slot.cached_objects(), 0u);
  }
  // The same holds during a state write.
  world.CommitOne("+1");
  const auto write = world.BeginWrite();
  world.CommitOne("+2");
  world.CommitOne("-2");
  EXPECT_EQ(world.slot.cached_objects(), 1u);
  world.EndWrite(*write);
}

// The store still has the rows until their deletion is applied.
TEST(WaitingRows, RowsRewrittenAndErasedDuringTheirDeletionAreErased) {
  constexpr std::uint64_t kErased = kRows / 2;
  MapStore store;
  World world(&store);
  world.Fill();
  world.Write();
  world.slot.Evict(0);  // from here on, look-ups read the store
  const std::string nothing = world.CommitOne("?5000");
  const auto all = [&](const std::string& what) {
    for (std::uint64_t id = 1; id <= kErased; ++id) world.CommitOne(what + std::to_string(id));
  };
  const auto expect_erased = [&](const char* when) {
    for (std::uint64_t id = 1; id <= kErased; ++id)
      ASSERT_EQ(world.CommitOne("?" + std::to_string(id)), nothing) << when << ": " << id;
    EXPECT_EQ(world.slot.waiting()[0].rows, kRows - kErased) << when;
  };
  all("-");
  const auto write = world.BeginWrite();
  all("+");
  all("-");
  expect_erased("during the write");
  world.EndWrite(*write);
  world.slot.Evict(0);
  expect_erased("after the write");
  world.Write();
  EXPECT_EQ(store.rows.size(), kRows - kErased);
}

// This holds for any number of rows.
TEST(WaitingRows, AnOpenCountsRowsAndLoadsThemUpToItsLimit) {
  MapStore store;
  std::vector<WaitingRows> counted;
  std::uint64_t whole = 0;
  {
    World world(&store);
    world.Fill();
    world.Write();
    counted = world.slot.waiting();
    whole = world.slot.cached_bytes();
  }
  for (const std::uint64_t part : {0, 1, 2}) {
    World world(&store, whole * part / 2);
    EXPECT_THAT(world.slot.waiting(), counted);
    EXPECT_NEAR(static_cast<double>(world.slot.cached_bytes()), static_cast<double>(whole * part / 2),
                1000.0);
    EXPECT_EQ(world.keeper->rows().outside() == 0, part == 2);
    std::uint64_t found = 0;
    for (std::uint64_t id = 1; id <= kRows; ++id)
      found += world.CommitOne("?" + std::to_string(id)).size() > 90 ? 1 : 0;
    EXPECT_EQ(found, kRows);
  }
}

// The same records in the same commits give the same fingerprints, independent of writes, evictions and opens.
TEST(WaitingRows, WritesEvictionsAndReloadsChangeNoFingerprint) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) { return random() % n; };
    MapStore store;
    MapStore other_store;
    World resting(&other_store);
    auto evicting = std::make_unique<World>(&store);
    std::unique_ptr<StateWrite> write;
    for (int step = 0; step < 3000; ++step) {
      const std::string what = below(40) == 0 ? "*" + std::to_string(1 + below(2))
                                              : std::string(1, "+-?"[below(3)]) + std::to_string(below(60));
      resting.Do(what);
      evicting->Do(what);
      if (below(3) == 0) continue;
      ASSERT_TRUE(resting.slot.Finish().ok());
      ASSERT_TRUE(evicting->slot.Finish().ok());
      ASSERT_EQ(resting.slot.meta().hash, evicting->slot.meta().hash) << "seed " << seed << ", step " << step;
      EXPECT_EQ(resting.keeper->rows().rows(), evicting->keeper->rows().rows());
      switch (below(8)) {
        case 0:
          if (write == nullptr) write = evicting->BeginWrite();
          break;
        case 1:
          if (write != nullptr) evicting->EndWrite(*std::exchange(write, nullptr));
          break;
        case 2: evicting->slot.Evict(below(2) * 3000); break;
        case 3:
          if (below(10) != 0) break;
          if (write != nullptr) evicting->EndWrite(*std::exchange(write, nullptr));
          evicting->Write();
          evicting = std::make_unique<World>(&store, below(2) * 3000);
          break;
        default: break;
      }
    }
  }
}

// This holds for any rows in memory and any division of the search.
TEST(WaitingRows, FirstKeysReturnsTheSmallestWantedKeysInOrder) {
  MapStore store;
  World world(&store);
  world.Fill();
  world.Write();
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    world.slot.Evict(round % 2 == 0 ? 0 : 50000);
    for (int n = 0; n < 20; ++n)
      world.CommitOne((n % 3 == 0 ? "-" : "?") + std::to_string(1 + random() % kRows));
    const std::uint64_t divisor = 1 + random() % 7;
    const auto wanted = [&](const Key& key, const Row& row) {
      EXPECT_FALSE(row.text.empty());
      return key.id / 2 % divisor == 0;
    };
    std::vector<Key> expected;
    world.keeper->rows().WalkProject(1, [&](const Key& key, const Row& row) {
      if (wanted(key, row)) expected.push_back(key);
    });
    std::sort(expected.begin(), expected.end());
    const std::size_t limit = 1 + random() % 100;
    std::vector<Key> found;
    for (Key from = KeyOf(0);;) {
      const std::vector<Key> some = world.keeper->rows().FirstKeys(from, limit, wanted);
      found.insert(found.end(), some.begin(), some.end());
      if (some.size() < limit) break;
      from = some.back();
      ++from.sub;
    }
    EXPECT_EQ(found, expected) << "round " << round;
  }
}

// Even numbers are of project 1. After nine reads, one scan finds what the store has behind them.
TEST(AbsentRows, InAscendingOrderAreNotLookedFor) {
  MapStore store;
  World world(&store, 0, false);
  world.Fill();
  world.Do("+8000");
  ASSERT_TRUE(world.slot.Finish().ok());
  world.Write();
  world.slot.Evict(0);
  const auto reads = [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t before = world.slot.store_reads();
    for (std::uint64_t id = first; id < end; id += 2) world.Do("?" + std::to_string(id));
    return world.slot.store_reads() - before;
  };
  EXPECT_EQ(reads(5000, 8000), 9u);
  EXPECT_EQ(reads(8000, 8001), 1u) << "a row that there is";
  EXPECT_EQ(reads(8002, 9000), 8u);
  EXPECT_NE(world.CommitOne("?8000").find(std::string(90, 'x')), std::string::npos);
}

TEST(AbsentRows, ThatAreWrittenLaterAreFound) {
  MapStore store;
  World world(&store, 0, false);
  const std::string nothing = world.CommitOne("?4998");
  for (std::uint64_t id = 5000; id < 5100; id += 2) world.Do("?" + std::to_string(id));
  world.Do("+6000");
  world.Do("+5200");
  ASSERT_TRUE(world.slot.Finish().ok());
  world.Write();
  world.slot.Evict(0);
  EXPECT_EQ(world.slot.cached_objects(), 0u);
  EXPECT_EQ(world.CommitOne("?5102"), nothing);
  EXPECT_NE(world.CommitOne("?5200"), nothing);
  EXPECT_NE(world.CommitOne("?6000"), nothing);
}

TEST(AbsentRows, InAnyOrderChangeNoFingerprint) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) { return random() % n; };
    MapStore store;
    MapStore other_store;
    World resting(&other_store, 0, false);
    World evicting(&store, 0, false);
    std::unique_ptr<StateWrite> write;
    std::uint32_t number = 0;
    for (int step = 0; step < 6000; ++step) {
      // Ascending runs, mostly of absent rows, with some that are written and erased.
      number = below(40) == 0 ? below(400) : number + 2;
      const std::string what = std::string(1, "??????+-"[below(8)]) + std::to_string(number);
      resting.Do(what);
      evicting.Do(what);
      if (below(10) != 0) continue;
      ASSERT_TRUE(resting.slot.Finish().ok());
      ASSERT_TRUE(evicting.slot.Finish().ok());
      ASSERT_EQ(resting.slot.meta().hash, evicting.slot.meta().hash) << "seed " << seed << ", step " << step;
      switch (below(3)) {
        case 0:
          if (write == nullptr) write = evicting.BeginWrite();
          break;
        case 1:
          if (write != nullptr) evicting.EndWrite(*std::exchange(write, nullptr));
          break;
        default:
          if (write == nullptr) evicting.slot.Evict(below(2) * 3000);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace cobblestone::stream
