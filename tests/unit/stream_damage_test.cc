// A damaged row of the state is an error of the state, not of the record that read the row.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/store/store.h"
#include "common/stream/runtime/slot.h"

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
const Key kRow{.project = 1, .id = 7, .sub = 3};

// A store with the given rows, without checksums.
class Rows final : public store::Store {
 public:
  std::map<std::string, std::string> rows;

  Status Get(std::string_view key, std::string* value) const override {
    const auto found = rows.find(std::string(key));
    if (found == rows.end()) return Status::NotFound("no such row");
    *value = found->second;
    return Status::Ok();
  }
  Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const override {
    for (const auto& [key, value] : rows)
      if (key >= from && key.starts_with(prefix))
        if (Status s = visit(key, value); !s.ok()) return s;
    return Status::Ok();
  }
  Result<std::string> Meta() const override { return Status::NotFound("a new store"); }
  std::unique_ptr<const store::Reader> Snapshot() const override { return nullptr; }
  Status Apply(const std::vector<store::Row>&, std::string_view) override { return Status::Ok(); }
  Status Checkpoint(const std::string&) override { return Status::Ok(); }
  Status VerifyBeyond(const std::string&) const override { return Status::Ok(); }
  std::uint64_t disk_bytes() const override { return 0; }
};

// Executes the operation in the record on its row, and then counts that the processing went on.
class OperatingStage final : public Stage {
 public:
  OperatingStage(TableHost& host, bool resident, int* passed)
      : rows_(host, kSpec, resident), passed_(passed) {}
  void Process(std::size_t, const RecordView& record, Emitter&) override {
    if (record.value == "find") static_cast<void>(rows_.Find(kRow));
    if (record.value == "need") static_cast<void>(rows_.Need(kRow));
    if (record.value == "change") rows_.Mutable(kRow).text = "new";
    if (record.value == "erase") rows_.Erase(kRow);
    if (record.value == "damaged") rows_.Damaged(kRow, "its event does not decode");
    ++*passed_;
  }
  std::vector<TableBase*> tables() override { return {&rows_}; }

 private:
  Table<Row> rows_;
  int* passed_;
};

struct World {
  explicit World(bool resident = false) : slot({.id = 0, .topics = {}}, host) {
    slot.AddStage(std::make_unique<OperatingStage>(host, resident, &passed), {{.topic = 0, .partition = 0}});
  }
  static std::string KeyBytes() {
    std::string key(kKeyBytes, '\0');
    EncodeKey(kSpec.id, kRow, key.data());
    return key;
  }
  Status Do(std::string_view what) {
    return slot.Process(
        0, {.where = {0, 0}, .offset = slot.next(0), .append_time = 0, .line = 0, .value = what});
  }

  Rows store;
  TableHost host;
  int passed = 0;
  Slot slot;
};

TEST(StateDamage, AnUndecodableRowStopsTheSlotAndTheStage) {
  for (const char* what : {"find", "need", "change", "erase"}) {
    World world;
    world.store.rows[World::KeyBytes()] = "\x01 no row";
    ASSERT_TRUE(world.slot.Open(&world.store).ok());
    const Status s = world.Do(what);
    EXPECT_EQ(s.code(), StatusCode::kCorrupted) << what << s.message();
    EXPECT_TRUE(world.slot.state_damaged()) << what;
    EXPECT_TRUE(world.slot.failed()) << what;
    EXPECT_EQ(world.passed, 0) << what;
    EXPECT_EQ(world.slot.Finish().status().code(), StatusCode::kCorrupted) << what;
  }
}

TEST(StateDamage, AMissingRowThatAnotherRowNeedsIsDamage) {
  World world;
  ASSERT_TRUE(world.slot.Open(&world.store).ok());
  EXPECT_TRUE(world.Do("find").ok()) << "the row may be absent";
  const Status s = world.Do("need");
  EXPECT_EQ(s.code(), StatusCode::kCorrupted);
  EXPECT_EQ(s.message(), "state table 1, the row of project 1, number 7, part 3: is missing");
  EXPECT_TRUE(world.slot.state_damaged());
  EXPECT_EQ(world.passed, 1);
}

TEST(StateDamage, DamageFoundByAStageIsDamageOfTheState) {
  World world;
  ASSERT_TRUE(world.slot.Open(&world.store).ok());
  EXPECT_EQ(world.Do("damaged").code(), StatusCode::kCorrupted);
  EXPECT_TRUE(world.slot.state_damaged());
}

TEST(StateDamage, ADamagedRowReadBetweenCommitsStopsTheSlot) {
  World world;
  world.store.rows[World::KeyBytes()] = "";
  ASSERT_TRUE(world.slot.Open(&world.store).ok());
  std::string row;
  EXPECT_EQ(world.slot.ReadRow(kSpec.id, kRow, row).code(), StatusCode::kCorrupted);
  EXPECT_EQ(world.Do("nothing").code(), StatusCode::kCorrupted);
}

TEST(StateDamage, AnInvalidKeyIsDamage) {
  World world(true);
  world.store.rows[World::KeyBytes().substr(0, kKeyBytes - 1)] = "\x01";
  EXPECT_EQ(world.slot.Open(&world.store).code(), StatusCode::kCorrupted);
}

TEST(StateDamage, AnOlderFormatIsCorruptedAndANewerFormatIsFatal) {
  EXPECT_EQ(DecodeSlotMeta("\x01").status().code(), StatusCode::kCorrupted);
  EXPECT_EQ(DecodeSlotMeta("\x7f").status().code(), StatusCode::kFatal);
  EXPECT_TRUE(DecodeSlotMeta(EncodeSlotMeta({})).ok());
}

// ---- Keys ----------------------------------------------------------------------------------------------------

TEST(StateKey, HostIdsWithEqualLow32BitsHaveDifferentKeys) {
  TableHost host;
  Table<Row> table(host, kSpec, false);
  const std::uint64_t low = 5;
  for (std::uint64_t high = 0; high < 8; ++high)
    table.Mutable({.project = 1, .id = 100, .sub = high << 32 | low}).text = std::to_string(high);
  for (std::uint64_t high = 0; high < 8; ++high) {
    const Key key{.project = 1, .id = 100, .sub = high << 32 | low};
    ASSERT_NE(table.Find(key), nullptr);
    EXPECT_EQ(table.Find(key)->text, std::to_string(high));
    char bytes[kKeyBytes];
    EncodeKey(kSpec.id, key, bytes);
    std::uint8_t id = 0;
    Key decoded;
    ASSERT_TRUE(DecodeKey({bytes, kKeyBytes}, &id, &decoded));
    EXPECT_EQ(decoded, key);
  }
}

// ---- Slices of a state write ---------------------------------------------------------------------------------

// A stage with many tables. Each record changes one row of every table.
class ManyTables final : public Stage {
 public:
  static constexpr std::uint8_t kTables = 10;

  explicit ManyTables(TableHost& host) {
    for (std::uint8_t id = 1; id <= kTables; ++id)
      tables_.push_back(std::make_unique<Table<Row>>(host, TableSpec<Row>{.id = id}, false));
  }
  void Process(std::size_t, const RecordView& record, Emitter&) override {
    for (auto& table : tables_) table->Mutable({.project = 1, .id = record.offset, .sub = 0}).text = "x";
  }
  std::vector<TableBase*> tables() override {
    std::vector<TableBase*> all;
    for (auto& table : tables_) all.push_back(table.get());
    return all;
  }

 private:
  std::vector<std::unique_ptr<Table<Row>>> tables_;
};

TEST(StateWriteSlices, ASliceIsBoundedOverAllTables) {
  constexpr std::size_t kRows = 7;
  constexpr std::size_t kLimit = 3;
  TableHost host;
  Slot slot({.id = 0, .topics = {}}, host);
  slot.AddStage(std::make_unique<ManyTables>(host), {{.topic = 0, .partition = 0}});
  ASSERT_TRUE(slot.Open(nullptr).ok());
  for (std::size_t i = 0; i < kRows; ++i)
    ASSERT_TRUE(
        slot.Process(0, {.where = {0, 0}, .offset = slot.next(0), .append_time = 0, .line = 0, .value = "x"})
            .ok());
  ASSERT_TRUE(slot.Finish().ok());
  slot.BeginStateWrite();
  std::size_t slices = 1;
  while (!slot.GatherStateWrite(kLimit)) ++slices;
  EXPECT_GE(slices, kRows * ManyTables::kTables / kLimit);
  EXPECT_EQ(RowsOf(*slot.TakeStateWrite()).size(), kRows * ManyTables::kTables);
}

}  // namespace
}  // namespace cobblestone::stream
