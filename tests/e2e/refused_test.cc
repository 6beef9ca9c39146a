// Refused records can be found and resubmitted to the pipeline, however long they waited before.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/access/question.h"
#include "services/embedded/engine.h"
#include "services/view/json.h"
#include "tests/support/job_events.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;
using intake::AppendBlock;

namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

// A project with hosts 1 and 2 and an app of policy `assigned`: a grant equals the credit in its validation.
class RefusedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    settings::RunSettings settings;
    settings.data_directory = temp_ / "data";
    settings.partitions = 2;
    settings.threads = 1;
    auto opened = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine_ = std::move(*opened);
    engine_->Start();
    Send(wire::AppChange{
        .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 10 * kDay});
    Send(wire::UserMember{.user = UserId(1)});
    for (std::uint64_t host = 1; host <= 2; ++host)
      Send(wire::HostMember{.host = HostId(host), .user = UserId(1)});
  }

  // Sends each event in its own block and waits until the pipeline is idle.
  void Send(wire::EventBody body) {
    AppendBlock block{.source = "s", .first_line = line_++, .barrier = true};
    block.lines.push_back(
        {.envelope = wire::EncodeEvent(
             {.head = {.id = line_, .project = ProjectId(1), .time = now_}, .body = std::move(body)})});
    ASSERT_TRUE(engine_->Append(block).ok());
  }
  void Completed(std::uint64_t result, std::uint64_t host, std::uint64_t workunit,
                 credit::Outcome outcome = credit::Outcome::kSuccess) {
    wire::Completion completion = CompletionOf(result, host, workunit, now_);
    completion.facts.outcome = outcome;
    Send(completion);
  }
  void Validated(std::uint64_t result, std::uint64_t host, std::uint64_t workunit, double credit = 7,
                 bool late = false) {
    credit::ValidationFacts facts = ValidationOf(result, host, workunit, credit);
    facts.late = late;
    Send(facts);
  }
  void Tick(double time) {
    now_ = time;
    Send(wire::Tick{.time = time});
  }

  // In order of their numbers.
  std::vector<wire::Refused> Refusals() {
    std::vector<wire::Refused> all;
    EXPECT_TRUE(engine_
                    ->ForEachRecord({wire::kRefused, 0},
                                    [&](std::uint64_t, std::string_view record) {
                                      EXPECT_TRUE(wire::DecodeRefused(record, &all.emplace_back()));
                                      return true;
                                    })
                    .ok());
    return all;
  }
  // The record at the position that a refusal names.
  std::string RecordAt(const wire::Refused& refused) {
    stream::TopicIndex topic = 0;
    while (topic < wire::kTopicCount && wire::TopicName(topic) != refused.topic) ++topic;
    std::string found;
    EXPECT_TRUE(engine_
                    ->ForEachRecord({topic, refused.partition},
                                    [&](std::uint64_t offset, std::string_view record) {
                                      if (offset == refused.offset) found = record;
                                      return offset < refused.offset;
                                    })
                    .ok());
    return found;
  }

  TempDir temp_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t line_ = 0;
  double now_ = kStart;
};

TEST_F(RefusedTest, EachRefusalNamesItsRecord) {
  for (std::uint64_t host = 1; host <= 2; ++host) {
    const std::uint64_t first = 100 * host;
    for (std::uint64_t i = 0; i < 3; ++i) {  // so that they are not the first records of their partitions
      Completed(first + i, host, first + i);
      Validated(first + i, host, first + i);
    }
    Completed(first + 10, host, first + 10);  // without a validation
    Validated(first + 11, host, first + 11);  // without a completion
    Completed(first + 12, host, first + 12);  // names different workunits
    Validated(first + 12, host, first + 13);
    Completed(first + 14, host + 20, first + 14);  // of an unknown host
    Validated(first + 14, host + 20, first + 14);
    Validated(first + 15, host, first + 15);  // of a result that ended in an error
    Completed(first + 15, host, first + 15, credit::Outcome::kClientError);
    Completed(first + 16, host, first + 16);  // late, of a workunit that is never decided
    Validated(first + 16, host, first + 16, 7, true);
    Completed(first + 17, host, first + 17);  // more than can be granted
    Validated(first + 17, host, first + 17, 1e100);
    Send(wire::OpeningTotal{.kind = wire::AccountKind::kHost, .account = host + 30, .total_micro = 5});
    Send(wire::HostMember{.host = HostId(host + 40), .user = UserId(9)});  // of an unknown user
    Completed(first + 18, host + 40, first + 18);
    Validated(first + 18, host + 40, first + 18);
  }
  Tick(kStart + 11 * kDay);
  Tick(kStart + 22 * kDay);
  Tick(kStart + 40 * kDay);
  std::map<std::pair<std::string, wire::RefusalReason>, int> kinds;
  for (const wire::Refused& refused : Refusals()) {
    ++kinds[{refused.topic, refused.refusal.reason}];
    EXPECT_EQ(RecordAt(refused), refused.original) << refused.topic << ", " << refused.refusal.detail;
    EXPECT_GT(refused.append_time, 0) << refused.topic << ", " << refused.refusal.detail;
  }
  using wire::RefusalReason;
  EXPECT_EQ(kinds, (decltype(kinds){{{"completions", RefusalReason::kUnknownResult}, 2},
                                    {{"completions", RefusalReason::kUnknownHost}, 2},
                                    {{"completions", RefusalReason::kWrongWorkunit}, 2},
                                    {{"validations", RefusalReason::kUnknownResult}, 4},
                                    {{"validations", RefusalReason::kUnknownHost}, 2},
                                    {{"validations", RefusalReason::kWrongWorkunit}, 2},
                                    {{"claims", RefusalReason::kUnknownResult}, 2},
                                    {{"claims", RefusalReason::kNotFinite}, 2},
                                    {{"grants", RefusalReason::kUnknownUser}, 2},
                                    {{"hosts", RefusalReason::kUnknownHost}, 2}}));
}

// The ingest refuses watermarks; a barrier among the events shows when everything before it is done.
TEST_F(RefusedTest, ForgedWatermarksAreRefusedAndEachPartitionAnswersABarrier) {
  AppendBlock block{.source = "s", .first_line = line_};
  const auto add = [&](wire::EventBody body) {
    block.lines.push_back(
        {.envelope = wire::EncodeEvent(
             {.head = {.id = ++line_, .project = ProjectId(1), .time = now_}, .body = std::move(body)})});
  };
  add(CompletionOf(500, 1, 50, now_));
  add(wire::Watermark{.number = 1, .time = now_ + 100 * kDay});
  add(wire::HostAsked{.host = HostId(1), .user = UserId(1)});
  add(wire::HeldResult{.host = HostId(1), .result = ResultId(1), .holder = HostId(2)});
  add(wire::HandedEvent{.host = HostId(1), .named = HostId(2), .event = "no event"});
  add(wire::DecidedResult{.host = HostId(1), .result = ResultId(1), .named = HostId(2)});
  add(wire::Barrier{});
  add(ValidationOf(500, 1, 50, 7));
  const std::uint64_t barrier = line_ - 1;
  const auto outcome = engine_->Append(block);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->appended, 3u);
  EXPECT_EQ(outcome->refused, 5u);
  engine_->WaitIdle();
  const std::vector<wire::Refused> refused = Refusals();
  ASSERT_EQ(refused.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(refused[i].refusal.reason, wire::RefusalReason::kNotSupported);
    EXPECT_EQ(refused[i].line, line_ - 7 + i);
  }
  std::multimap<std::uint64_t, std::uint32_t> passed;  // partitions by barrier
  ASSERT_TRUE(engine_
                  ->ForEachRecord({wire::kPassed, 0},
                                  [&](std::uint64_t, std::string_view record) {
                                    wire::WatermarkPassed watermark;
                                    EXPECT_TRUE(wire::DecodeWatermarkPassed(record, &watermark));
                                    passed.emplace(watermark.barrier, watermark.partition);
                                    return true;
                                  })
                  .ok());
  EXPECT_EQ(passed.size(), 2u);
  EXPECT_EQ(passed.count(barrier), 2u);
  // Only the events are counted, not the watermarks.
  EXPECT_EQ(engine_->Counts().completions, 1u);
  EXPECT_EQ(engine_->Counts().grants, 1u);
}

TEST_F(RefusedTest, ACompletionIsGrantedOnceItIsResubmittedAfterTheRightValidation) {
  Completed(500, 1, 50);
  Validated(500, 1, 51);
  Validated(500, 1, 50, 12.5);
  EXPECT_EQ(engine_->questions().Explain(ProjectId(1), ResultId(500))->at("pending").at("waits_for"),
            "its completion");
  const std::vector<wire::Refused> refused = Refusals();
  ASSERT_EQ(refused.size(), 2u);
  ASSERT_EQ(refused[1].topic, "completions");
  ASSERT_TRUE(access::Answer(*engine_, {.path = "/refused/resubmit", .parameters = {{"offset", "1"}}}).ok());
  engine_->WaitIdle();
  const auto explained = engine_->questions().Explain(ProjectId(1), ResultId(500));
  ASSERT_TRUE(explained.ok());
  ASSERT_EQ(explained->at("grants").size(), 1u) << explained->dump();
  EXPECT_EQ(Refusals().size(), 2u);
}

TEST_F(RefusedTest, AResubmittedBroadcastAppliesToLaterEvents) {
  Send(wire::AppVersionChange{.row = {.id = 7, .app = AppId(2)}});
  ASSERT_EQ(Refusals().size(), 1u);
  Send(wire::AppChange{.app = AppId(2), .policy = "assigned", .delay_bound = kDay});
  ASSERT_TRUE(access::Answer(*engine_, {.path = "/refused/resubmit", .parameters = {{"offset", "0"}}}).ok());
  EXPECT_TRUE(engine_->idle());
  wire::Completion completion = CompletionOf(500, 1, 50, now_);
  completion.facts.app = AppId(2);
  completion.facts.version = AppVersionId(7);
  Send(completion);
  EXPECT_EQ(Refusals().size(), 1u);
}

TEST_F(RefusedTest, AClaimCannotBeResubmitted) {
  Completed(500, 1, 50);
  Validated(500, 1, 50, 1e100);
  ASSERT_EQ(Refusals().size(), 1u);
  const auto again = access::Answer(*engine_, {.path = "/refused/resubmit", .parameters = {{"offset", "0"}}});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(again.status().message().find("not an event"), std::string::npos) << again.status().message();
  EXPECT_EQ(Refusals().size(), 1u);
}

// The merge waits in ACCOUNTS for an account that no event brings.
TEST_F(RefusedTest, ARecordOfTheLedgerIsShownWithoutAnEvent) {
  wire::GrantHead head{.project = ProjectId(1), .user = UserId(2), .kind = wire::GrantKind::kHostMerged};
  head.host = HostId(3);
  std::string merge;
  wire::EncodeGrant(head, {.line = 5}, {}, {}, &merge, {.into = HostId(4)});
  ASSERT_TRUE(wire::EnvelopeToJson(merge).ok()) << "its bytes look like an event";
  const wire::Refused refused{
      .refusal = {.reason = wire::RefusalReason::kUnknownHost}, .topic = "grants", .original = merge};
  const auto shown = view::RefusedJson(7, refused);
  EXPECT_FALSE(shown.contains("event")) << shown;
  EXPECT_FALSE(shown.contains("original")) << shown;
  EXPECT_EQ(shown.at("topic"), "grants");
  const Status again = view::MayBeResubmitted(7, refused);
  EXPECT_NE(again.message().find("refused record 7 is a record of the topic grants, not an event"),
            std::string::npos)
      << again.message();
}

}  // namespace
}  // namespace cobblestone::testing
