// Order, visibility, durability, tickets, rows, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "common/stream/embedded/batch_format.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/tail.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

// A door at which callbacks wait, to block the committer.
class Door {
 public:
  void Open() {
    {
      const std::scoped_lock lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void WaitForArrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool waiting_ = false;
};

std::unique_ptr<Log> OpenOrDie(const LogOptions& options) {
  auto log = Log::Open(options);
  EXPECT_TRUE(log.ok()) << log.status().message();
  return *std::move(log);
}

TEST(LogOrder, OffsetsOfAPartitionFollowTheOrderOfUnits) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  LogUnit first;
  first.outputs = {Output({kClaims, 0}, {"a", "b"}), Output({kClaims, 1}, {"c"}), Output({kNotes, 0}, {})};
  LogUnit second;
  second.outputs = {Output({kClaims, 0}, {"d"})};
  const std::uint64_t ticket = log->Append(std::move(first));
  EXPECT_LT(ticket, log->Append(std::move(second)));
  EXPECT_EQ(log->End({kClaims, 0}), 3u);
  EXPECT_EQ(log->End({kClaims, 1}), 1u);
  EXPECT_EQ(log->End({kNotes, 0}), 0u);
  EXPECT_THAT(AllRecords(*log, {kClaims, 0}), ElementsAre("a", "b", "d"));
  const auto batch = log->Read({kClaims, 0}, 1);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ((*batch)->first, 0u);
  EXPECT_EQ((*batch)->end(), 2u);
  EXPECT_EQ((*batch)->append_time, 1.7e9);
  EXPECT_EQ(*log->Read({kClaims, 0}, 3), nullptr);
  EXPECT_THAT(log->Read({kClaims, 0}, 4).status().message(), HasSubstr("ends at 3"));
}

TEST(LogOrder, AUnitIsVisibleBeforeItIsDurable) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  Door door;
  LogUnit first = StoryUnit(1, 10);
  first.on_durable = [&] { door.Pass(); };  // the committer waits here
  const std::uint64_t ticket = log->Append(std::move(first));
  door.WaitForArrival();
  EXPECT_EQ(log->durable_ticket(), ticket);

  const std::uint64_t second = log->Append(StoryUnit(2, 10));
  EXPECT_EQ(log->End({kClaims, 0}), 2u);
  EXPECT_EQ(log->DurableEnd({kClaims, 0}), 1u);
  EXPECT_EQ(AllRecords(*log, {kClaims, 0}).at(1), StoryRecord(2, 10));
  EXPECT_EQ(*log->GetRow("last"), "2");
  EXPECT_LT(log->durable_ticket(), second);
  door.Open();
  log->WaitDurable(second);
  EXPECT_EQ(log->durable_ticket(), second);
  EXPECT_EQ(log->DurableEnd({kClaims, 0}), 2u);
  EXPECT_EQ(*log->GetRow("last"), "2");
}

TEST(LogOrder, CallbacksRunInOrderAndBeforeWaitersReturn) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  std::vector<std::uint64_t> acknowledged;  // used only by the committer until WaitDurable has returned
  std::uint64_t ticket = 0;
  for (std::uint64_t unit = 1; unit <= 500; ++unit) {
    LogUnit next = StoryUnit(unit, 10);
    next.on_durable = [&acknowledged, unit] { acknowledged.push_back(unit); };
    ticket = log->Append(std::move(next));
  }
  log->WaitDurable(ticket);
  ASSERT_EQ(acknowledged.size(), 500u);
  for (std::uint64_t unit = 1; unit <= 500; ++unit) EXPECT_EQ(acknowledged[unit - 1], unit);
}

TEST(LogOrder, PendingUnitsShareOneSyncedWrite) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  Door door;
  LogUnit first = StoryUnit(1, 10);
  first.on_durable = [&] { door.Pass(); };
  log->Append(std::move(first));
  door.WaitForArrival();
  std::uint64_t ticket = 0;
  for (std::uint64_t unit = 2; unit <= 101; ++unit) ticket = log->Append(StoryUnit(unit, 10));
  door.Open();
  log->WaitDurable(ticket);
  EXPECT_EQ(log->counters().units, 101u);
  EXPECT_EQ(log->counters().records, 303u);
  EXPECT_EQ(log->counters().syncs, 2u);
}

// While the committer runs the callback of unit 1, another appender has filled the room again. A worker appends while
// it holds a mutex that the callback needs. If Append() waited for room here, neither would ever continue.
TEST(LogOrder, AFullLogDoesNotBlockACallbackThatNeedsTheAppendersMutex) {
  const TempDir dir;
  LogOptions options = StoryOptions(dir / "log");
  options.pending_bytes = 1;
  const auto log = OpenOrDie(options);
  std::mutex mutex;
  Door door;
  LogUnit first = StoryUnit(1, 1000);
  first.on_durable = [&] {
    door.Pass();
    const std::scoped_lock lock(mutex);
  };
  log->Append(std::move(first));
  door.WaitForArrival();
  log->Append(StoryUnit(2, 1000));
  std::uint64_t ticket = 0;
  {
    const std::scoped_lock lock(mutex);
    ticket = log->Append(StoryUnit(3, 1000));
    door.Open();
  }
  log->WaitDurable(ticket);
  EXPECT_EQ(MeasureStory(*log, 1000).units, 3u);
}

TEST(LogOrder, AppendWaitsWhileTooMuchIsPending) {
  const TempDir dir;
  LogOptions options = StoryOptions(dir / "log");
  options.pending_bytes = 30000;
  const auto log = OpenOrDie(options);
  std::uint64_t most = 0;
  std::uint64_t ticket = 0;
  for (std::uint64_t unit = 1; unit <= 300; ++unit) {
    ticket = log->Append(StoryUnit(unit, 5000));
    most = std::max(most, log->End({kClaims, 0}) - log->DurableEnd({kClaims, 0}));
  }
  log->WaitDurable(ticket);
  // A unit takes 15,000 bytes, and more than half of that compressed: one unit fits within the limit, one exceeds it.
  EXPECT_LE(most, 2u) << "units ahead of the disk";
}

TEST(LogOrder, TheListenerIsCalledForEveryUnit) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  std::uint64_t seen_end = 0;
  log->SetListener([&] { seen_end = log->End({kClaims, 0}); });
  log->Append(StoryUnit(1, 10));
  EXPECT_EQ(seen_end, 1u);
  log->Append(StoryUnit(2, 10));
  EXPECT_EQ(seen_end, 2u);
  log->SetListener({});
  log->Append(StoryUnit(3, 10));
  EXPECT_EQ(seen_end, 2u);
}

TEST(LogOrder, RowsAreReadAsOfTheLastAppend) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  const auto rows = [&](std::string_view prefix) {
    std::string text;
    EXPECT_TRUE(
        log->ScanRows(prefix, [&](auto key,
                                  auto value) { text += std::string(key) + "=" + std::string(value) + " "; })
            .ok());
    return text;
  };
  log->WaitDurable(log->Append({.rows = {{"p/a", "1"}, {"p/c", "1"}, {"q", "1"}}}));
  EXPECT_EQ(rows("p/"), "p/a=1 p/c=1 ");

  Door door;
  log->Append({.rows = {{"p/a", "2"}}, .on_durable = [&] { door.Pass(); }});
  door.WaitForArrival();
  log->Append({.rows = {{"p/b", "3"}}});
  log->Append({.rows = {{"p/c", "3"}, {"p/d", "3"}}});
  log->Append({.rows = {{"p/c", "4"}}});
  EXPECT_EQ(rows("p/"), "p/a=2 p/b=3 p/c=4 p/d=3 ");
  EXPECT_EQ(rows(""), "p/a=2 p/b=3 p/c=4 p/d=3 q=1 ");
  EXPECT_EQ(rows("x"), "");
  EXPECT_EQ(*log->GetRow("p/c"), "4");
  EXPECT_EQ(log->GetRow("p/").status().code(), StatusCode::kNotFound);
  door.Open();
  log->WaitDurable(log->Append({}));
  EXPECT_EQ(rows("p/"), "p/a=2 p/b=3 p/c=4 p/d=3 ");
}

// An older commit of the same row becomes durable meanwhile, at every moment of the newer one's life.
TEST(LogOrder, ARowIsNeverOlderThanTheLastAppend) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  for (int i = 0; i < 500; ++i) {
    log->Append({.rows = {{"row", std::to_string(i)}}});
    const std::uint64_t ticket = log->Append({.rows = {{"row", std::to_string(i) + " again"}}});
    bool durable = false;
    do {
      durable = log->durable_ticket() >= ticket;
      ASSERT_EQ(*log->GetRow("row"), std::to_string(i) + " again");
      std::string scanned;
      ASSERT_TRUE(log->ScanRows("row", [&](auto, auto value) { scanned = value; }).ok());
      ASSERT_EQ(scanned, std::to_string(i) + " again");
    } while (!durable);
  }
}

TEST(LogOrder, EvictedBatchesAreReadFromDisk) {
  const TempDir dir;
  LogOptions options = StoryOptions(dir / "log");
  options.tail_bytes = 4000;  // one or two batches
  const auto log = OpenOrDie(options);
  std::uint64_t ticket = 0;
  for (std::uint64_t unit = 1; unit <= 300; ++unit) ticket = log->Append(StoryUnit(unit, 1000));
  log->WaitDurable(ticket);
  const StoryLength length = MeasureStory(*log, 1000);
  EXPECT_EQ(length.wrong, "");
  EXPECT_EQ(length.units, 300u);
  // Backwards, and in the middle of a batch.
  for (std::uint64_t offset = 600; offset-- > 0;) {
    const auto batch = log->Read({kGrants, 1}, offset);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    EXPECT_LE((*batch)->first, offset);
    EXPECT_GT((*batch)->end(), offset);
  }
}

TEST(LogOrder, ConsumedBatchesAreEvictedAndStillReadable) {
  const TempDir dir;
  const auto log = OpenOrDie(StoryOptions(dir / "log"));
  log->WaitDurable(log->Append(StoryUnit(1, 1000)));
  const std::weak_ptr<const Batch> watched = *log->Read({kClaims, 0}, 0);
  EXPECT_FALSE(watched.expired());
  log->Consumed({kClaims, 0}, 1);
  EXPECT_TRUE(watched.expired());
  EXPECT_THAT(AllRecords(*log, {kClaims, 0}), ElementsAre(StoryRecord(1, 1000)));
}

BatchRef TailBatch(std::uint64_t first, std::uint32_t count, std::size_t bytes) {
  Batch batch;
  batch.first = first;
  batch.count = count;
  batch.payload.assign(bytes, 'x');
  return std::make_shared<const Batch>(std::move(batch));
}

TEST(LogTail, EvictsTheOldestDurableBatchBeyondItsLimit) {
  std::vector<BatchRef> gone;
  Tail tail({0, 100}, 250);
  tail.Add(0, TailBatch(0, 10, 100));
  tail.Add(1, TailBatch(100, 10, 100));
  tail.Add(0, TailBatch(10, 10, 100));
  tail.Evict(gone);
  EXPECT_THAT(gone, IsEmpty()) << "nothing is durable yet";
  tail.Durable(1, 110);
  tail.Evict(gone);
  EXPECT_EQ(tail.Find(1, 105), nullptr);
  EXPECT_EQ(tail.bytes(), 200u);
  tail.Durable(0, 20);
  tail.Add(1, TailBatch(110, 1, 100));
  tail.Evict(gone);
  EXPECT_EQ(tail.Find(0, 5), nullptr);
  EXPECT_EQ(tail.Find(0, 15)->first, 10u);
  EXPECT_EQ(tail.Find(0, 20), nullptr);
  EXPECT_EQ(tail.Find(1, 110)->first, 110u);
}

TEST(LogTail, KeepsABatchThatIsConsumedButNotDurable) {
  std::vector<BatchRef> gone;
  Tail tail({0}, 1000);
  tail.Add(0, TailBatch(0, 10, 100));
  tail.Consumed(0, 10, gone);
  EXPECT_NE(tail.Find(0, 0), nullptr);
  tail.Durable(0, 10);
  tail.Evict(gone);
  EXPECT_EQ(tail.Find(0, 0), nullptr);
  EXPECT_EQ(gone.size(), 1u);
  EXPECT_EQ(tail.bytes(), 0u);
}

// The stored bytes of a small batch, except for the parts that depend on the compressor.
TEST(LogBatchFormat, AStoredBatchMatchesTheHeaderFile) {
  PackedBatch packed(
      "\x03"
      "abc",
      1);
  packed.Seal({kGrants, 1}, 0x1122, 2.0);
  const std::string_view bytes = packed.bytes();
  ASSERT_EQ(bytes.size(), kBatchHeaderBytes + 4);
  EXPECT_EQ(bytes.substr(0, 16), std::string_view("\x01\x00\x00\x00"
                                                  "\x01\x00\x00\x00"
                                                  "\x04\x00\x00\x00"
                                                  "\x04\x00\x00\x00",
                                                  16));
  EXPECT_EQ(bytes.substr(16, 16), std::string_view("\x22\x11\x00\x00\x00\x00\x00\x00"
                                                   "\x00\x00\x00\x00\x00\x00\x00\x40",
                                                   16));
  EXPECT_EQ(bytes.substr(48),
            "\x03"
            "abc");
  EXPECT_EQ(BatchKey({kGrants, 1}, 0x1122), std::string("\x00\x01"
                                                        "\x00\x00\x00\x01"
                                                        "\x00\x00\x00\x00\x00\x00\x11\x22",
                                                        14));
}

TEST(LogBatchFormat, EveryFlippedBitOfAStoredBatchIsFound) {
  std::string payload;
  for (int i = 0; i < 40; ++i) AppendRecord(payload, "a claim much like the others " + std::to_string(i));
  PackedBatch packed(payload, 40);
  packed.Seal({kClaims, 1}, 7, 1.7e9);
  const std::string stored(packed.bytes());
  ASSERT_LT(stored.size(), payload.size()) << "compressed";
  const BatchPlace place{.where = {kClaims, 1}, .first = 7};
  const auto back = UnpackBatch(place, stored);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ((*back)->payload, payload);
  EXPECT_EQ((*back)->end(), 47u);
  for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
    std::string damaged = stored;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(UnpackBatch(place, damaged).status().code(), StatusCode::kCorrupted) << "bit " << bit;
  }
  EXPECT_FALSE(UnpackBatch(place, stored.substr(0, stored.size() - 1)).ok());
  EXPECT_FALSE(UnpackBatch({.where = {kClaims, 0}, .first = 7}, stored).ok()) << "under another key";
}

}  // namespace
}  // namespace cobblestone::stream::embedded
