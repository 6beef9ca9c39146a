// `ticks: wall` on a simulated cluster: the owner of the coordinator's slot sends the ticks, and every tick exists
// once.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/credit/model/constants.h"
#include "common/sim/sim_cluster.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/kafka/kafka_clock.h"

namespace cobblestone::testing {

using kafka::KafkaClock;
using kafka::KafkaClockOptions;

namespace {

constexpr double kPeriod = credit::kDefaultScalePeriod;
constexpr double kBegin = 1800000000;
constexpr stream::TopicIndex kProducers = wire::kTopicCount;

class Clocks : public ::testing::Test {
 protected:
  Clocks() : cluster_({.topics = Topics(), .journal = wire::kJournal}, 7) {}

  static std::vector<stream::TopicSpec> Topics() {
    auto topics = wire::Manifest(2);
    topics.push_back({.name = "producers", .partitions = 1});
    return topics;
  }

  KafkaClock& Clock(bool accept_jump = false) {
    clients_.push_back(cluster_.NewClient());
    clocks_.push_back(std::make_unique<KafkaClock>(
        *clients_.back(),
        KafkaClockOptions{.partitions = 2,
                          .producers_topic = kProducers,
                          .future_limit = kPeriod,
                          .accept_jump = accept_jump,
                          .report = [this](const std::string& what) { reports_.push_back(what); }}));
    return *clocks_.back();
  }

  // Periods since kBegin.
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    for (const auto& [offset, value] : cluster_.Committed({wire::kCatalogue, 0}))
      ticks.push_back((wire::PeekEventTime(value).value_or(0) - kBegin) / kPeriod);
    return ticks;
  }

  sim::SimCluster cluster_;
  std::vector<std::unique_ptr<sim::SimCluster::Client>> clients_;
  std::vector<std::unique_ptr<KafkaClock>> clocks_;
  std::vector<std::string> reports_;
};

TEST_F(Clocks, OnlyTheOwnerSendsOneTickPerPeriod) {
  KafkaClock& a = Clock();
  KafkaClock& b = Clock();
  for (int step = 0; step < 25; ++step) {
    a.Look(true, kBegin + step * kPeriod / 10);
    b.Look(false, kBegin + step * kPeriod / 10);
  }
  EXPECT_EQ(Ticks(), (std::vector<double>{0, 1, 2}));
  EXPECT_TRUE(reports_.empty()) << reports_[0];
}

// Two workers that both believe to own the slot, with different clocks and lost answers.
TEST_F(Clocks, ATickOfTwoSendersExistsOnce) {
  KafkaClock& a = Clock();
  KafkaClock& b = Clock();
  cluster_.set_faults({.lost_request = 500, .lost_response = 1500});
  for (int step = 0; step < 100; ++step) {
    a.Look(true, kBegin + step * kPeriod / 10);
    b.Look(true, kBegin + (step + 15) * kPeriod / 10);
  }
  cluster_.set_faults({});
  a.Look(true, kBegin + 10 * kPeriod);
  a.Look(true, kBegin + 10 * kPeriod);
  const auto ticks = Ticks();
  for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_LT(ticks[i - 1], ticks[i]);
  ASSERT_FALSE(ticks.empty());
  EXPECT_EQ(ticks.back(), 11);
  EXPECT_GT(cluster_.counts().by_kind.size(), 1u);
}

TEST_F(Clocks, AJumpOfMoreThanADayNeedsTheOperator) {
  Clock().Look(true, kBegin);
  KafkaClock& after_days = Clock();
  after_days.Look(true, kBegin + 288 * kPeriod);
  EXPECT_EQ(Ticks(), (std::vector<double>{0}));
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_[0].find("--accept-time-jump"), std::string::npos) << reports_[0];
  Clock(true).Look(true, kBegin + 288 * kPeriod);
  EXPECT_EQ(Ticks(), (std::vector<double>{0, 288}));
}

}  // namespace
}  // namespace cobblestone::testing
