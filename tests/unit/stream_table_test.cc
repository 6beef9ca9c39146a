// What a table keeps in memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

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
  // Every row of the commits so far is as a store would have it.
  static void Write(TableBase& table) {
    RowBuffer rows;
    table.BeginFlush();
    ASSERT_TRUE(table.GatherFlush(kRows * 2, rows));
  }
  static void Fill(TableHost& host, Table<Row>& table, std::size_t text) {
    for (std::uint64_t id = 1; id <= kRows; ++id) table.Mutable(KeyOf(id)).text.assign(text, 'x');
    Commit(host);
  }
};

TEST_F(TableMemory, WhatRowsHoldCountsAndGoesWithThem) {
  TableHost host;
  Table<Row> small(host, kSpec, false);
  Table<Row> large(host, kSpec, false);
  Fill(host, small, 10);
  Fill(host, large, 1000);
  Write(small);
  Write(large);
  EXPECT_GT(large.bytes(), small.bytes() + kRows * 1500);
  large.Evict(large.bytes() / 2);
  EXPECT_GT(large.size(), kRows * 4 / 10);
  EXPECT_LE(large.size(), kRows / 2 + 1);
  large.Evict(0);
  EXPECT_EQ(large.size(), 0u);
  EXPECT_EQ(large.bytes(), 0u);
  EXPECT_EQ(small.size(), kRows);
}

TEST_F(TableMemory, WhatTheStoreHasNotStays) {
  TableHost host;
  Table<Row> table(host, kSpec, false);
  Fill(host, table, 100);
  table.Evict(0);
  EXPECT_EQ(table.size(), kRows) << "not written yet";
  Write(table);
  table.Mutable(KeyOf(1)).text = "of this commit";
  table.Evict(0);
  EXPECT_EQ(table.size(), 1u);
  Commit(host);
  table.Evict(0);
  ASSERT_NE(table.Find(KeyOf(1)), nullptr);
  EXPECT_EQ(table.Find(KeyOf(1))->text, "of this commit");
}

TEST_F(TableMemory, OfAResidentTableGoesWhatIsGoneAndNothingElse) {
  TableHost host;
  Table<Row> table(host, kSpec, true);
  Fill(host, table, 100);
  Write(table);
  for (std::uint64_t id = 1; id <= kRows; id += 2) table.Erase(KeyOf(id));
  Commit(host);
  table.EvictGone();
  EXPECT_EQ(table.size(), kRows) << "that they are gone is not written yet";
  Write(table);
  table.EvictGone();
  EXPECT_EQ(table.size(), kRows / 2);
  for (std::uint64_t id = 1; id <= kRows; ++id)
    EXPECT_EQ(table.Find(KeyOf(id)) != nullptr, id % 2 == 0) << id;
}

}  // namespace
}  // namespace cobblestone::stream
