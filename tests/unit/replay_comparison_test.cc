// Who gains and who loses by another policy: the counts, computed by hand, and a change of policy in the middle of a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "services/events/event_file.h"
#include "services/fleet/fleet.h"
#include "services/lab/experiment.h"
#include "services/replay/comparison.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using replay::ReplaySummary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ReplaySummary SmallSummary() {
  ReplaySummary summary;
  summary.first.policy = "boinc";
  summary.second.policy = "robust";
  const auto user = [&](std::uint64_t id, credit::MicroTotal first, credit::MicroTotal second) {
    if (first != 0) summary.first.by_user[id] = first;
    if (second != 0) summary.second.by_user[id] = second;
    summary.first.micro += first;
    summary.second.micro += second;
  };
  user(1, 1000, 500);
  user(2, 1000, 950);
  user(3, 1000, 1010);
  user(4, 1000, 1050);
  user(5, 0, 290);  // nothing before
  user(7, 1000, 1200);
  summary.first.by_user[6] = summary.second.by_user[6] = 0;
  summary.first.by_host[1] = {100, 900, 0};
  summary.second.by_host[1] = {50, 450, 0};
  summary.first.by_host[2] = {10, 0, 990};
  summary.second.by_host[2] = {10, 0, 990};
  summary.second.by_host[3] = {7, 0, 0};
  return summary;
}

TEST(ReplayComparison, CountsUsersAndHostsByTheirRelativeChange) {
  const replay::Comparison comparison = replay::Compare(SmallSummary());
  EXPECT_DOUBLE_EQ(comparison.all, 0);
  EXPECT_EQ(comparison.users.all, 6u);
  EXPECT_THAT(comparison.users.bins, ElementsAre(1, 1, 1, 1, 2));
  EXPECT_DOUBLE_EQ(comparison.users.median, 1050.0 / 1000 - 1);
  EXPECT_EQ(comparison.users_above, 2u);
  EXPECT_EQ(comparison.users_below, 1u);
  EXPECT_THAT(comparison.hosts.bins, ElementsAre(1, 0, 1, 0, 1));
  // Host 1 earned most with GPU versions, host 2 on the anonymous platform; host 3 is new.
  EXPECT_THAT(comparison.hosts_by_device[0].bins, ElementsAre(0, 0, 0, 0, 1));
  EXPECT_THAT(comparison.hosts_by_device[1].bins, ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(comparison.hosts_by_device[2].bins, ElementsAre(0, 0, 1, 0, 0));
}

TEST(ReplayComparison, ACommonChangeIsNoRedistribution) {
  ReplaySummary summary;
  for (const std::uint64_t id : {1, 2, 3}) {
    summary.first.by_user[id] = 1000;
    summary.second.by_user[id] = 800;
  }
  summary.first.micro = 3000;
  summary.second.micro = 2400;
  const replay::Comparison comparison = replay::Compare(summary);
  EXPECT_EQ(comparison.users.losing(), 3u);
  EXPECT_EQ(comparison.users_below + comparison.users_above, 0u);
}

TEST(ReplayComparison, TheAnswerComesFirst) {
  const std::string text = replay::DescribeComparison(SmallSummary());
  EXPECT_TRUE(text.starts_with(
      "robust instead of boinc: all credit +0.00 %; of 6 users 3 gain and 2 lose more than 2 %, "
      "the median user +5.00 %.\nCompared with the change of all credit, more than 10 % are gained by 2 "
      "and lost by 1 of the users.\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("users with the largest gains\n  user 5 "));
  EXPECT_THAT(text, HasSubstr("hosts with the largest losses\n  host 1 "));
}

// ---- A change of policy in the middle of a file --------------------------------------------------------

class ReplaySwitch : public ::testing::Test {
 protected:
  void SetUp() override {
    lab::LabOptions options{.parameters = lab::LabParameters(), .hosts = 40, .jobs = 200};
    const fleet::FleetOptions world_options =
        lab::WorldOf(options, {.policy = "creditnew", .replication = fleet::Replication::kQuorum}, 0, {}, 1);
    middle_ = world_options.start_time + world_options.days * 86400 / 2;
    auto writer = events::EventWriter::Open(file_);
    ASSERT_TRUE(writer.ok());
    fleet::Fleet world(world_options, {});
    std::string_view event;
    while (world.Next(&event)) ASSERT_TRUE((*writer)->Write(event).ok());
    ASSERT_TRUE((*writer)->Close().ok());
  }

  testing::TempDir dir_;
  std::string file_ = dir_ / "events.pb";
  double middle_ = 0;
};

TEST_F(ReplaySwitch, TheSecondRunKeepsItsAveragesAndOnlyLaterCreditCounts) {
  const auto whole = replay::Replay({.file = file_, .compare_policy = "robust"});
  const auto half = replay::Replay({.file = file_, .compare_policy = "robust", .switch_at = middle_});
  ASSERT_TRUE(whole.ok() && half.ok());
  EXPECT_EQ(half->refused, 0u);
  EXPECT_LT(half->first.grants, whole->first.grants * 3 / 5);
  EXPECT_GT(half->first.grants, whole->first.grants * 2 / 5);
  EXPECT_EQ(half->first.grants, half->second.grants);
  // Without history robust pays defaults at first, here about a tenth less; with it the old level continues.
  EXPECT_GT(replay::Compare(*half).all, replay::Compare(*whole).all);
  EXPECT_NE(replay::Compare(*half).all, 0);
}

TEST_F(ReplaySwitch, ToTheSamePolicyChangesNothing) {
  const auto summary = replay::Replay({.file = file_, .compare_policy = "creditnew", .switch_at = middle_});
  ASSERT_TRUE(summary.ok());
  EXPECT_GT(summary->first.grants, 1000u);
  EXPECT_EQ(summary->first.by_user, summary->second.by_user);
  EXPECT_EQ(summary->first.by_host, summary->second.by_host);
}

TEST_F(ReplaySwitch, ErrorsNameTheOptionAndTheLatestEvent) {
  const auto late = replay::Replay({.file = file_, .compare_policy = "robust", .switch_at = 9e9});
  EXPECT_EQ(late.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(late.status().message(),
              HasSubstr("no event is as late as --switch-at 9000000000; the latest"));
  const auto alone = replay::Replay({.file = file_, .switch_at = middle_});
  EXPECT_THAT(alone.status().message(), HasSubstr("give --compare-policy or --compare-apps too"));
}

}  // namespace
}  // namespace cobblestone
