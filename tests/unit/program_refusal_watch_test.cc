#include "services/kafka/refusal_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/refused_codec.h"

namespace cobblestone {

using kafka::AboveShare;
using kafka::RefusalAlarm;
using kafka::RefusalsByProject;
using kafka::RefusalWatch;

namespace {

using ::testing::HasSubstr;
using wire::RefusalReason;

std::string EventOf(std::uint32_t project) {
  return wire::EncodeEvent(
      {.head = {.id = 1, .project = ProjectId(project), .time = 5}, .body = wire::Tick{.time = 5}});
}

class Refusals : public ::testing::Test {
 protected:
  void Take(std::uint32_t project, int records) {
    for (int i = 0; i < records; ++i) watch_.Taken(EventOf(project));
  }
  void Refuse(std::uint32_t project, RefusalReason reason, int records) {
    std::string bytes;
    wire::EncodeRefused({.refusal = {.reason = reason}, .project = ProjectId(project)}, &bytes);
    for (int i = 0; i < records; ++i) watch_.Made(wire::kRefused, bytes);
  }
  RefusalsByProject Above(std::uint32_t percent) {
    RefusalsByProject counts;
    watch_.MoveTo(&counts);
    return AboveShare(counts, percent);
  }

  RefusalWatch watch_;
};

TEST_F(Refusals, AProjectAboveTheShareIsNamedWithItsReasons) {
  Take(1, 1000);
  Refuse(1, RefusalReason::kUnknownHost, 200);
  Take(2, 500);
  Take(1, 1000);
  Refuse(2, RefusalReason::kUnknownHost, 90);
  Refuse(2, RefusalReason::kTooLate, 11);
  const RefusalsByProject above = Above(20);
  ASSERT_EQ(above.size(), 1u);
  const std::string alarm = RefusalAlarm(above.begin()->first, above.begin()->second);
  EXPECT_THAT(alarm, HasSubstr("project 2, 101 of 500 records were refused: UNKNOWN_HOST 90, TOO_LATE 11"));
  EXPECT_THAT(alarm, HasSubstr("cobblestone refused list"));
  EXPECT_TRUE(Above(20).empty()) << "each refusal is counted once";
}

TEST_F(Refusals, ExactlyTheShareIsNotAboveIt) {
  Take(1, 500);
  Refuse(1, RefusalReason::kTooLate, 100);
  EXPECT_TRUE(Above(20).empty());
}

TEST_F(Refusals, FewRecordsRaiseNoAlarm) {
  Take(1, 99);
  Refuse(1, RefusalReason::kTooLate, 99);
  EXPECT_TRUE(Above(20).empty());
}

TEST_F(Refusals, AHundredPercentIsNeverExceeded) {
  Refuse(1, RefusalReason::kTooLate, 1000);
  EXPECT_TRUE(Above(100).empty());
}

TEST_F(Refusals, ALateRefusalCountsToo) {
  Refuse(1, RefusalReason::kTooLate, 100);
  EXPECT_EQ(Above(20).size(), 1u);
}

TEST_F(Refusals, UndecodableRecordsCountWithoutAProject) {
  for (int i = 0; i < 100; ++i) watch_.Taken("no event");
  Refuse(0, RefusalReason::kUndecodable, 100);
  const RefusalsByProject above = Above(20);
  ASSERT_EQ(above.size(), 1u);
  EXPECT_THAT(RefusalAlarm(above.begin()->first, above.begin()->second),
              HasSubstr("without a project, 100 of 100"));
}

}  // namespace
}  // namespace cobblestone
