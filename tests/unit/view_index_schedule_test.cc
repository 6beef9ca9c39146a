// When the index of a hub's accounts is built: few builds during an import, one soon after it.
#include "services/view/hub/index_schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cobblestone::view {
namespace {

// `editions`: number of complete editions; `accounts`: number of events so far.
HubRows RowsOf(int editions, std::uint64_t accounts) {
  HubRows rows;
  rows.editions = std::to_string(editions);
  rows.positions = {accounts};
  return rows;
}

// Looks every half second, as HubIndexer does. Builds take `per_account` seconds for each account.
class Indexer {
 public:
  explicit Indexer(double per_account) : per_account_(per_account) {}

  // Shows these rows until `until`. Returns the times at which builds ended.
  std::vector<double> Watch(const HubRows& rows, double until) {
    std::vector<double> ended;
    for (; now_ < until; now_ += 0.5) {
      if (!schedule_.Due(rows, now_)) continue;
      const double begun = now_;
      now_ += per_account_ * static_cast<double>(rows.positions[0]);
      schedule_.Built(rows, now_, now_ - begun);
      busy_ += now_ - begun;
      ended.push_back(now_);
    }
    return ended;
  }
  IndexSchedule& schedule() { return schedule_; }
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] double busy() const { return busy_; }  // s spent in builds

 private:
  const double per_account_;
  IndexSchedule schedule_;
  double now_ = 100;
  double busy_ = 0;
};

TEST(IndexSchedule, BuildsTheFirstIndexAtOnceAndNoneWithoutAChange) {
  Indexer hub(1e-6);
  EXPECT_EQ(hub.Watch(RowsOf(0, 0), 100.5).size(), 1u);
  EXPECT_TRUE(hub.Watch(RowsOf(0, 0), 10000).empty());
  // Whatever the clock of the caller shows then.
  for (const double now : {-1e9, 0.0, 0.5, 1e9}) EXPECT_TRUE(IndexSchedule().Due(RowsOf(0, 0), now)) << now;
}

TEST(IndexSchedule, ShowsAnEditionOfASmallHubWithinASecond) {
  Indexer hub(1e-6);
  hub.Watch(RowsOf(1, 1000), 110);
  const double begun = hub.now();
  const auto ended = hub.Watch(RowsOf(2, 2000), begun + 5);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_LE(ended[0] - begun, 1);
}

// An import of 30 projects with a million accounts each: every 5 s a state write shows another 200,000 accounts, and every
// 25 s another edition.
TEST(IndexSchedule, SpendsLittleOnBuildsDuringAnImportAndBuildsSoonAfterIt) {
  Indexer hub(2e-6);
  hub.Watch(RowsOf(0, 0), 101);
  std::uint64_t accounts = 0;
  const double begun = hub.now();
  for (int step = 1; hub.now() < begun + 750; ++step) {
    accounts = static_cast<std::uint64_t>(200000 * step);
    hub.Watch(RowsOf(step / 5, accounts), hub.now() + 5);
  }
  const double imported = hub.now();
  // A tenth of the time, and somewhat more because each build has more accounts than the one that it waited for.
  EXPECT_LT(hub.busy(), 0.15 * (imported - begun));
  const double once = 2e-6 * static_cast<double>(accounts);
  // The last build took up to `once`, 60 s, so the next one may have to wait for as long.
  const auto ended = hub.Watch(RowsOf(1000, accounts), imported + 12 + 2 * once + 1);
  ASSERT_EQ(ended.size(), 1u);
}

// A day's changes of a hub with 40 million accounts, for which a build takes 68 s.
TEST(IndexSchedule, BuildsOnceAfterADailyImport) {
  Indexer hub(1.7e-6);
  hub.Watch(RowsOf(30, 40000000), 101);
  EXPECT_TRUE(hub.Watch(RowsOf(30, 40000000), 86400).empty());
  std::size_t builds = 0;
  for (int project = 1; project <= 30; ++project)
    builds +=
        hub.Watch(RowsOf(30 + project, 40000000 + static_cast<std::uint64_t>(project)), hub.now() + 5).size();
  EXPECT_EQ(builds, 0u);
  const double imported = hub.now();
  const auto ended = hub.Watch(RowsOf(60, 40000030), imported + 600);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_LT(ended[0] - imported, 12 + 68 + 1);
}

// Projects that send their accounts all the time never leave the hub quiet for 12 s.
TEST(IndexSchedule, DoesNotWaitForEverForFeedsThatNeverStop) {
  Indexer hub(2e-6);
  hub.Watch(RowsOf(0, 5000000), 111);  // 10 s
  std::vector<double> ended;
  std::uint64_t accounts = 5000000;
  while (ended.empty() && hub.now() < 1000) ended = hub.Watch(RowsOf(1, ++accounts), hub.now() + 5);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_LE(ended[0], 110 + 9 * 10 + 10 + 2);
}

TEST(IndexSchedule, WaitsLongerForEventsThatChangeNoEdition) {
  Indexer hub(2e-6);
  hub.Watch(RowsOf(0, 5000000), 111);  // 10 s, ends at 110
  const auto ended = hub.Watch(RowsOf(0, 5000001), 1000);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_GE(ended[0], 110 + 19 * 10);
}

// A build that took ten minutes beside other work, but 40 s of CPU, is not a reason to wait for forty minutes.
TEST(IndexSchedule, AfterABusyTimeReadersWaitForAMinuteAtMost) {
  IndexSchedule schedule;
  ASSERT_TRUE(schedule.Due(RowsOf(1, 1000), 100));
  schedule.Built(RowsOf(1, 1000), 700, 40);
  EXPECT_FALSE(schedule.Due(RowsOf(2, 1001), 701));
  EXPECT_FALSE(schedule.Due(RowsOf(2, 1001), 759));
  EXPECT_TRUE(schedule.Due(RowsOf(2, 1001), 760));
  // Builds that cost more leave at least half of a core.
  schedule.Built(RowsOf(2, 1001), 1000, 90);
  EXPECT_FALSE(schedule.Due(RowsOf(3, 1002), 1001));
  EXPECT_FALSE(schedule.Due(RowsOf(3, 1002), 1089));
  EXPECT_TRUE(schedule.Due(RowsOf(3, 1002), 1090));
}

// While partitions are at different moments, events arrive, though the look before showed the same rows.
TEST(IndexSchedule, CountsAStateThatCannotBeReadAsAChange) {
  Indexer hub(1e-6);
  hub.Watch(RowsOf(0, 2000000), 102.5);  // 2 s
  hub.Watch(RowsOf(1, 2000001), 112);
  hub.schedule().NotReadable(112);
  EXPECT_TRUE(hub.Watch(RowsOf(1, 2000001), 118).empty());
  EXPECT_EQ(hub.Watch(RowsOf(1, 2000001), 130).size(), 1u);
}

}  // namespace
}  // namespace cobblestone::view
