// A state write is due after a number of records over all slots, or a number of bytes in one slot.
#include "common/stream/embedded/runner/state_debt.h"

#include <gtest/gtest.h>

namespace cobblestone::stream::embedded {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

TEST(StateDebt, ASlotHasItsShareOfTheRecordsOfAllSlots) {
  RunnerOptions options;
  options.flush_debt_records = 1000;
  StateDebt debt(options, 4);
  debt.Add(249, 0);
  EXPECT_FALSE(debt.Due(1));
  debt.Add(1, 0);  // 4 * 250
  EXPECT_TRUE(debt.Due(1));
  EXPECT_FALSE(debt.Due(2));
  debt.Add(250, 0);
  EXPECT_TRUE(debt.Due(2));
}

TEST(StateDebt, TheByteLimitIsPerSlotAndDefaultsToItsMemory) {
  RunnerOptions options;
  options.object_bytes = 8 * kMiB;
  StateDebt by_memory(options, 4);
  by_memory.Add(1, 8 * kMiB - 1);
  EXPECT_FALSE(by_memory.Due(1));
  by_memory.Add(0, 1);
  EXPECT_TRUE(by_memory.Due(1));

  options.flush_debt_bytes = kMiB;
  StateDebt by_option(options, 4);
  by_option.Add(1, kMiB);
  EXPECT_TRUE(by_option.Due(1));
}

TEST(StateDebt, ASmallMemoryDoesNotMakeEachCommitWriteState) {
  RunnerOptions options;
  options.object_bytes = 1;
  StateDebt debt(options, 1);
  debt.Add(1, 4 * kMiB - 1);
  EXPECT_FALSE(debt.Due(1));
  debt.Add(1, 1);
  EXPECT_TRUE(debt.Due(1));
}

TEST(StateDebt, StartingAWriteClearsTheDebt) {
  RunnerOptions options;
  options.flush_debt_records = 1;
  StateDebt debt(options, 1);
  EXPECT_TRUE(debt.empty());
  debt.Add(5, 100 * kMiB * 1000);
  EXPECT_FALSE(debt.empty());
  debt.Clear();
  EXPECT_TRUE(debt.empty());
  EXPECT_FALSE(debt.Due(1));
}

}  // namespace
}  // namespace cobblestone::stream::embedded
