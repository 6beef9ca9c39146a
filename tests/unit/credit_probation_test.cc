// Scale probation alone (S000, 'Cherry picking', 'One-time cheats'). credit_creditnew_test.cc tests probation as a
// part of claims.
#include "common/credit/policies/probation.h"

#include <gtest/gtest.h>

namespace cobblestone::credit {
namespace {

constexpr bool kOn = true;
constexpr bool kOff = false;

TEST(ProbationTest, ANewRowIsOnProbationIfTheAppChecks) {
  const HostVersion row;
  EXPECT_TRUE(OnProbation(row, kOn));
  EXPECT_FALSE(OnProbation(row, kOff));
}

TEST(ProbationTest, TrustFollowsHostScaleTime) {
  struct Case {
    bool on_probation;
    double host_scale_time;
    double now;
    HostTrust trust;
  };
  const Case cases[] = {
      {true, 100, 99, HostTrust::kNoScale},    {true, 100, 100, HostTrust::kAtMostOne},
      {true, 100, 101, HostTrust::kAtMostOne}, {false, 100, 101, HostTrust::kTrusted},
      {false, 100, 99, HostTrust::kNoScale},   {false, 0, 1, HostTrust::kTrusted},
  };
  for (const Case& c : cases) EXPECT_EQ(TrustOf(c.on_probation, c.host_scale_time, c.now), c.trust) << c.now;
}

TEST(ProbationTest, ADispatchCountsOnlyOnProbationAndOnlyWithTheCheck) {
  HostVersion row;
  NoteDispatch({kOff, 1000, 100}, row);
  EXPECT_EQ(row.host_scale_time, 0);
  NoteDispatch({kOn, 1000, 100}, row);
  EXPECT_EQ(row.host_scale_time, 1100);
  row.scale_probation = false;
  NoteDispatch({kOn, 2000, 100}, row);
  EXPECT_EQ(row.host_scale_time, 1100);
}

TEST(ProbationTest, RepeatedOrReorderedEventsOnlyMoveTheTimeForward) {
  HostVersion row;
  NoteDispatch({kOn, 2000, 100}, row);
  NoteDispatch({kOn, 1000, 100}, row);
  EXPECT_EQ(row.host_scale_time, 2100);
  NoteUnreliable({kOn, 1500, 100}, row);
  EXPECT_EQ(row.host_scale_time, 2100);
  NoteDispatch({kOn, 2000, 100}, row);
  EXPECT_EQ(row.host_scale_time, 2100);
}

TEST(ProbationTest, AValidResultClearsOnlyAfterHostScaleTime) {
  HostVersion row;
  NoteDispatch({kOn, 1000, 100}, row);
  NoteValidated({kOn, 1100, 100}, row);
  EXPECT_TRUE(row.scale_probation);
  NoteValidated({kOn, 1101, 100}, row);
  EXPECT_FALSE(row.scale_probation);
  NoteUnreliable({kOn, 1200, 100},
                 row);  // "set scale_probation to true ... and set host_scale_time to now+X"
  EXPECT_TRUE(row.scale_probation);
  EXPECT_EQ(row.host_scale_time, 1300);
}

TEST(ProbationTest, AOneTimeCheatCountsWithAndWithoutTheCheck) {
  for (const bool check : {kOn, kOff}) {
    HostVersion row;
    row.scale_probation = false;
    row.error_rate = 0.01;
    NoteOneTimeCheat({check, 1000, 100}, Constants{}, row);
    EXPECT_TRUE(OnProbation(row, check));
    EXPECT_EQ(row.host_scale_time, 1100);
    EXPECT_EQ(row.error_rate, 0.1);
  }
}

}  // namespace
}  // namespace cobblestone::credit
