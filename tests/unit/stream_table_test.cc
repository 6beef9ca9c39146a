// The rows that a table keeps in memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/stream/table.h"

namespace cobblestone::stream {
namespace {

struct Row {
  std::string text;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.text);
  }
};

constexpr TableSpec<Row> kSpec{.id = 1};
constexpr std::uint64_t kRows = 1000;

Key KeyOf(std::uint64_t id) { return {.project = 1, .id = id, .sub = 0}; }

class TableMemory : public ::testing::Test {
 protected:
  static void Commit(TableHost& host) {
    for (const auto& [table, entry] : host.touched) table->Committed(entry);
    host.touched.clear();
  }
  // Marks every committed row as written to a store.
  static void Write(TableBase& table) {
    RowBuffer rows;
    table.BeginFlush();
    std::size_t limit = kRows * 2;
    ASSERT_TRUE(table.GatherFlush(&limit, rows));
  }
  static void Fill(TableHost& host, Table<Row>& table, std::size_t text) {
    for (std::uint64_t id = 1; id <= kRows; ++id) table.Mutable(KeyOf(id)).text.assign(text, 'x');
    Commit(host);
  }
  static void EvictOf(TableHost& host, const std::vector<TableBase*>& tables, std::uint64_t keep) {
    EvictTo(keep, tables, host);
  }
};

TEST_F(TableMemory, CountsTheBytesOfRowsAndReleasesThem) {
  TableHost host;
  Table<Row> small(host, kSpec, false);
  Table<Row> large(host, kSpec, false);
  Fill(host, small, 10);
  Fill(host, large, 1000);
  Write(small);
  Write(large);
  EXPECT_GT(large.bytes(), small.bytes() + kRows * 1500);
  const std::uint64_t half = large.bytes() / 2;
  EvictOf(host, {&large}, half);
  EXPECT_LE(large.bytes(), half);
  EXPECT_GT(large.bytes(), half * 3 / 4);
  EvictOf(host, {&large}, 0);
  EXPECT_EQ(large.size(), 0u);
  EXPECT_EQ(large.bytes(), 0u);
  EXPECT_EQ(small.size(), kRows);
}

TEST_F(TableMemory, EvictsTheLeastRecentlyUsedRowsOfAllTables) {
  TableHost host;
  Table<Row> used(host, kSpec, false);
  Table<Row> filed(host, kSpec, false);
  Fill(host, used, 100);
  Fill(host, filed, 100);
  Write(used);
  Write(filed);
  const std::uint64_t all = used.bytes() + filed.bytes();
  EvictOf(host, {&used, &filed}, all - 1);  // rows that are used after an eviction are newer
  const std::size_t kept = used.size();
  for (std::uint64_t id = 1; id <= kRows; ++id) static_cast<void>(used.Find(KeyOf(id)));
  EvictOf(host, {&used, &filed}, (used.bytes() + filed.bytes()) * 3 / 4);
  EXPECT_EQ(used.size(), kept);
  EXPECT_LT(filed.size(), kept * 6 / 10);
  // This holds for any number of evictions.
  for (int more = 0; more < 300; ++more) {
    for (std::uint64_t id = 1; id <= kRows; ++id) static_cast<void>(used.Find(KeyOf(id)));
    const std::size_t before = filed.size();
    EvictOf(host, {&used, &filed}, used.bytes() + filed.bytes() - 1);
    EXPECT_EQ(used.size() == kept, before > 0) << more;
    if (before == 0) break;
  }
}

// Project 1 adds rows that nobody asks for again, as events do whose partners never come. In each of 100 rounds its new
// rows fill a fifth of the memory; the rows of project 2 that are used in each round fill a tenth. The first eviction
// knows no order of use, because the age of a row counts evictions, and takes its part of all rows.
TEST_F(TableMemory, AFloodOfOneProjectEvictsItsOwnRowsAndNotThoseThatAnotherProjectUses) {
  const auto of = [](std::uint32_t project, std::uint64_t id) {
    return Key{.project = project, .id = id, .sub = 0};
  };
  TableHost host;
  Table<Row> table(host, kSpec, false);
  for (std::uint64_t id = 1; id <= 100; ++id) table.Mutable(of(2, id)).text.assign(100, 'x');
  Commit(host);
  Write(table);
  const std::uint64_t memory = 10 * table.bytes();
  std::uint64_t flooded = 0;
  for (int round = 0; round < 100; ++round) {
    for (std::uint64_t id = 1; id <= 100; ++id) {
      if (table.Find(of(2, id)) != nullptr) continue;
      ASSERT_EQ(host.evictions, 1) << "round " << round;
      table.Mutable(of(2, id)).text.assign(100, 'x');  // as read from the store
    }
    for (int i = 0; i < 200; ++i) table.Mutable(of(1, ++flooded)).text.assign(100, 'x');
    Commit(host);
    Write(table);
    EvictOf(host, {&table}, memory);
  }
  EXPECT_GT(host.evictions, 50);
  EXPECT_LT(table.size(), 1200u);  // of 20,100 rows, among them all 100 of project 2
}

TEST_F(TableMemory, KeepsRowsThatTheStoreLacks) {
  TableHost host;
  Table<Row> table(host, kSpec, false);
  Fill(host, table, 100);
  EvictOf(host, {&table}, 0);
  EXPECT_EQ(table.size(), kRows) << "not written yet";
  Write(table);
  table.Mutable(KeyOf(1)).text = "of this commit";
  EvictOf(host, {&table}, 0);
  EXPECT_EQ(table.size(), 1u);
  Commit(host);
  EvictOf(host, {&table}, 0);
  ASSERT_NE(table.Find(KeyOf(1)), nullptr);
  EXPECT_EQ(table.Find(KeyOf(1))->text, "of this commit");
}

TEST_F(TableMemory, AResidentTableReleasesOnlyErasedRows) {
  TableHost host;
  Table<Row> table(host, kSpec, true);
  Fill(host, table, 100);
  Write(table);
  for (std::uint64_t id = 1; id <= kRows; id += 2) table.Erase(KeyOf(id));
  Commit(host);
  table.EvictDeleted();
  EXPECT_EQ(table.size(), kRows) << "the deletions are not written yet";
  Write(table);
  table.EvictDeleted();
  EXPECT_EQ(table.size(), kRows / 2);
  for (std::uint64_t id = 1; id <= kRows; ++id)
    EXPECT_EQ(table.Find(KeyOf(id)) != nullptr, id % 2 == 0) << id;
}

}  // namespace
}  // namespace cobblestone::stream
