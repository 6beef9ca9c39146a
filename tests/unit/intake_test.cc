// The rules by which a block of lines becomes records, on a sink that writes down each call.
#include "services/intake/intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/intake/block_maker.h"

namespace cobblestone {

using intake::Append;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::BlockMaker;
using intake::ChainLine;
using intake::Classifier;
using intake::IntakeOptions;
using intake::ProducerState;
using intake::Resubmit;
using intake::Separation;
using intake::Sink;
using intake::SourceLine;
using intake::Step;
using pipeline::PeriodKind;
using pipeline::Ticker;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kDay = 86400;

// Calls as words: a record by the kind of its event, "refused REASON", "drain", "barrier", "end", "store".
class WrittenSink final : public Sink {
 public:
  [[nodiscard]] const ProducerState& position() const override { return position_; }
  [[nodiscard]] PeriodKind period_kind() const override { return period_kind_; }
  [[nodiscard]] bool must_drain() const override { return must_drain_; }
  [[nodiscard]] double now() const override { return 20000 * kDay; }
  [[nodiscard]] Ticker& ticker() override { return ticker_; }
  Status ReadyForBarrier() override { return ready_ ? Status::Ok() : Status::Retry("nothing runs"); }
  Status Drain() override {
    calls_.emplace_back("drain");
    must_drain_ = false;
    return Status::Ok();
  }
  Result<std::uint64_t> PassBarrier(bool ends_period) override {
    calls_.emplace_back(ends_period ? "end" : "barrier");
    period_kind_ = PeriodKind::kEnding;
    if (ends_period && std::exchange(end_fails_, false)) return Status::Retry("no worker");
    if (ends_period) period_kind_ = PeriodKind::kNothing;
    return moves_ > 0 ? moves_-- : 0;
  }
  void Add(stream::TopicPartition where, std::string_view record) override {
    if (where.topic == wire::kRefused) {
      wire::Refused refused;
      ASSERT_TRUE(wire::DecodeRefused(record, &refused));
      added_.push_back("refused " + std::string(wire::RefusalReasonName(refused.refusal.reason)) + " " +
                       std::to_string(refused.line));
      return;
    }
    const auto kind = wire::PeekKind(record);
    added_.push_back(kind ? std::string(wire::EventKindName(*kind)) : "bytes");
  }
  void Discard() override {
    added_.clear();
    ticker_.Drop();
  }
  [[nodiscard]] bool has_added() const { return !added_.empty(); }
  Status Store(const Commit& commit) override {
    for (std::string& one : added_) calls_.push_back(std::move(one));
    added_.clear();
    calls_.emplace_back("store");
    ticker_.Keep();
    position_ = commit.position;
    if (commit.period_kind != PeriodKind::kNothing) period_kind_ = commit.period_kind;
    must_drain_ = commit.barrier;
    return Status::Ok();
  }

  std::vector<std::string> TakeCalls() { return std::exchange(calls_, {}); }

  bool ready_ = true;
  bool must_drain_ = false;
  bool end_fails_ = false;
  std::uint64_t moves_ = 0;

 private:
  ProducerState position_;
  PeriodKind period_kind_ = PeriodKind::kNothing;
  Ticker ticker_{{.last = 0, .future_limit = kDay}};
  std::vector<std::string> added_;
  std::vector<std::string> calls_;
};

std::string Of(wire::EventBody body, double time = 1.7e9) {
  return wire::EncodeEvent(
      {.head = {.id = 7, .project = ProjectId(1), .time = time}, .body = std::move(body)});
}

std::string User(std::uint64_t id) { return Of(wire::UserMember{.user = UserId(id)}); }
std::string App() { return Of(wire::AppChange{.app = AppId(1)}); }

class IntakeTest : public ::testing::Test {
 protected:
  // A block that continues the source.
  AppendBlock Block(std::vector<SourceLine> lines, bool barrier = false) const {
    return {.source = "s",
            .first_line = sink_.position().lines,
            .lines = std::move(lines),
            .hash = {.low = 1, .high = 2},
            .barrier = barrier};
  }
  static SourceLine Line(std::string envelope) { return {.envelope = std::move(envelope)}; }

  IntakeOptions options_{.partitions = 4};
  WrittenSink sink_;
};

TEST_F(IntakeTest, ALineThatIsNoEventOrThatOnlyThePipelineCreatesIsRefusedAndTheOthersAreAppended) {
  const auto outcome = Append(Block({Line(User(1)),
                                     {.envelope = {}, .original = "{", .problem = "no JSON"},
                                     {},
                                     Line(Of(stream::Watermark{})),
                                     Line("no envelope"),
                                     Line(User(2))}),
                              options_, sink_);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("user", "refused UNDECODABLE 1", "refused NOT_SUPPORTED 3",
                                             "refused UNDECODABLE 4", "user", "store"));
  EXPECT_EQ(outcome->appended, 2u);
  EXPECT_EQ(outcome->refused, 3u);
  EXPECT_EQ(outcome->producer.lines, 6u) << "blank lines count";
  EXPECT_EQ(outcome->producer.hash, (stream::Hash128{.low = 1, .high = 2}));
}

TEST_F(IntakeTest, ABlockThatDoesNotContinueItsSourceOrHasNoSourceStoresNothing) {
  AppendBlock block = Block({Line(User(1))});
  block.first_line = 3;
  EXPECT_THAT(Append(block, options_, sink_).status().message(),
              HasSubstr("ingested up to line 0, but this block starts after line 3"));
  block = Block({Line(User(1))});
  block.source.clear();
  EXPECT_EQ(Append(block, options_, sink_).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(sink_.TakeCalls(), IsEmpty());
}

TEST_F(IntakeTest, ABroadcastNeedsABarrierAndIsProcessedBeforeAndAfter) {
  const auto without = Append(Block({Line(User(1)), Line(App())}), options_, sink_);
  EXPECT_THAT(without.status().message(), HasSubstr("line 2 of s is a broadcast"));
  EXPECT_THAT(sink_.TakeCalls(), IsEmpty());
  EXPECT_EQ(sink_.position().lines, 0u);
  EXPECT_FALSE(sink_.has_added()) << "a barrier that follows must not carry records of the block that failed";
  ASSERT_TRUE(Append(Block({Line(App())}, true), options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("drain", "app", "store", "drain"));
}

TEST_F(IntakeTest, ABlockWaitsForABarrierThatWasNotProcessedBeforeACrash) {
  sink_.must_drain_ = true;
  ASSERT_TRUE(Append(Block({Line(User(1))}), options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("drain", "user", "store"));
  ASSERT_TRUE(Append(Block({Line(User(2))}), options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("user", "store"));
}

TEST_F(IntakeTest, WithoutRunningStagesABroadcastIsNotStored) {
  sink_.ready_ = false;
  EXPECT_EQ(Append(Block({Line(App())}, true), options_, sink_).status().code(), StatusCode::kRetry);
  EXPECT_THAT(sink_.TakeCalls(), IsEmpty());
  EXPECT_TRUE(Append(Block({Line(User(1))}), options_, sink_).ok());
}

TEST_F(IntakeTest, EventTimeGivesATickBeforeTheEventUnlessTheSourceHasItsOwn) {
  const auto completion = [](double time) {
    return Of(wire::Completion{.facts = {.result = ResultId(1),
                                         .host = HostId(1),
                                         .workunit = WorkunitId(1),
                                         .app = AppId(1),
                                         .version = AppVersionId(1),
                                         .outcome = credit::Outcome::kSuccess,
                                         .event_time = time,
                                         .elapsed_time = 1,
                                         .cpu_time = 1},
                               .usage = {}},
              time);
  };
  const auto append = [&](double time, bool own_ticks) {
    AppendBlock block = Block({Line(completion(time))});
    block.own_ticks = own_ticks;
    EXPECT_TRUE(Append(block, options_, sink_).ok());
    return sink_.TakeCalls();
  };
  EXPECT_THAT(append(1.7e9, false), ElementsAre("completion", "store"));
  EXPECT_THAT(append(1.7e9 + kDay, false), ElementsAre("tick", "completion", "store"));
  EXPECT_THAT(append(1.7e9 + 2 * kDay, true), ElementsAre("completion", "store"));
  options_.ticks = settings::Ticks::kWall;
  EXPECT_THAT(append(1.7e9 + 3 * kDay, false), ElementsAre("completion", "store"));
}

TEST_F(IntakeTest, InLockstepAPeriodEndsWhereTheKindChangesOnceNothingMovesAnyMore) {
  options_.lockstep = true;
  AppendBlock block = Block({Line(User(1))}, true);
  block.own_ticks = true;
  ASSERT_TRUE(Append(block, options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("user", "store"));
  sink_.moves_ = 2;
  block = Block({Line(App())}, true);
  ASSERT_TRUE(Append(block, options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("barrier", "barrier", "barrier", "end", "app", "store"));
  block = Block({Line(User(2)), Line(App())}, true);
  EXPECT_THAT(Append(block, options_, sink_).status().message(), HasSubstr("in a block of its own kind"));
}

TEST_F(IntakeTest, InLockstepAnInterruptedEndIsRepeatedBeforeTheNextBlock) {
  options_.lockstep = true;
  ASSERT_TRUE(Append(Block({Line(User(1))}, true), options_, sink_).ok());
  sink_.end_fails_ = true;
  EXPECT_FALSE(EndPeriodBefore(PeriodKind::kNothing, true, sink_).ok());
  sink_.TakeCalls();
  ASSERT_TRUE(Append(Block({Line(User(2))}, true), options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("barrier", "end", "user", "store"));
}

TEST_F(IntakeTest, AResubmittedEventIsCountedByItsOwnSourceAndMakesNoTick) {
  ASSERT_TRUE(Resubmit({User(1)}, options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("user", "store"));
  EXPECT_EQ(sink_.position().lines, 1u);
  EXPECT_EQ(sink_.position().hash, ChainLine({}, User(1)));
  ASSERT_TRUE(Resubmit({App()}, options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("drain", "app", "store", "drain"));
  ASSERT_TRUE(Resubmit({User(1), User(2), App(), User(3)}, options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(),
              ElementsAre("user", "user", "store", "drain", "app", "store", "drain", "user", "store"));
  options_.lockstep = true;
  ASSERT_TRUE(Resubmit({User(1)}, options_, sink_).ok());
  EXPECT_THAT(sink_.TakeCalls(), ElementsAre("user", "store", "barrier", "end"));
}

// The blocks of a story, "|" before a block with a barrier. Letters: u user, a app, t tick, c completion, b a bad line,
// '.' a blank line, m and n merges of the same two hosts.
std::vector<std::string> Blocks(const std::string& story, Separation separation) {
  Classifier classifier(separation);
  BlockMaker maker({.source = "s", .first_line = 5, .lines = {}});
  stream::Hash128 hash;
  for (const char c : story) {
    Step step;
    switch (c) {
      case 'u': step.line.envelope = User(1); break;
      case 'a': step.line.envelope = App(); break;
      case 't': step.line.envelope = Of(wire::Tick{.time = 1}); break;
      case 'c': step.line.envelope = Of(wire::Completion{}); break;
      case 'm': step.line.envelope = Of(wire::HostMerge{.host = HostId(1), .into = HostId(2)}); break;
      case 'n': step.line.envelope = Of(wire::HostMerge{.host = HostId(2), .into = HostId(1)}); break;
      case 'b': step.line = {.envelope = {}, .original = "x", .problem = "bad"}; break;
      default: break;
    }
    if (!step.line.envelope.empty()) classifier.Classify(&step);
    hash = ChainLine(hash, std::string(1, c));
    maker.Put(std::move(step), hash);
  }
  maker.Close();
  std::vector<std::string> blocks;
  std::uint64_t position = 5;
  while (maker.complete() > 0) {
    const AppendBlock block = maker.Take().block;
    EXPECT_EQ(block.first_line, position);
    blocks.push_back((block.barrier ? "|" : "") + story.substr(position - 5, block.lines.size()));
    position += block.lines.size();
    if (maker.complete() == 0) {
      EXPECT_EQ(block.hash, hash);
    }
  }
  EXPECT_EQ(position, 5 + story.size());
  return blocks;
}

TEST(BlockMaker, BroadcastsAndRepeatedMergesAreSeparatedFromOtherEvents) {
  EXPECT_THAT(Blocks("uc.bt", Separation::kBroadcasts), ElementsAre("uc.bt"));
  EXPECT_THAT(Blocks("caac", Separation::kBroadcasts), ElementsAre("c", "|aa", "c"));
  EXPECT_THAT(Blocks("cmcnc", Separation::kBroadcasts), ElementsAre("cmc", "|n", "c"));
}

TEST(BlockMaker, InLockstepMembersAndTicksHaveBlocksOfTheirOwn) {
  EXPECT_THAT(Blocks("ccuutt", Separation::kMembers), ElementsAre("cc", "|uu", "|t", "|t"));
  EXPECT_THAT(Blocks("ua", Separation::kMembers), ElementsAre("|ua"));
  EXPECT_THAT(Blocks("ua", Separation::kKinds), ElementsAre("|u", "|a"));
  EXPECT_THAT(Blocks("cbc", Separation::kKinds), ElementsAre("cbc"));
}

TEST(BlockMaker, ABlockOfBroadcastsIsShort) {
  const auto blocks = Blocks(std::string(450, 'a'), Separation::kBroadcasts);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].size(), 1 + 200u);
}

}  // namespace
}  // namespace cobblestone
