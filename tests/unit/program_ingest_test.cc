// Exactly-once ingest of a source by a client that only records: the lines that are sent, their blocks, and the
// lines that are skipped when a source is sent again.
#include "services/access/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/wire/events/event_codec.h"
#include "services/access/append_codec.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using access::Client;
using access::FindLines;
using access::Ingest;
using access::IngestOptions;
using access::IngestSummary;
using access::ProducerJson;
using access::Question;
using events::EventFile;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::ProducerState;
using intake::SourceLine;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Records the lines that it receives, by the contract of Engine::Append.
class CountingClient final : public Client {
 public:
  struct ReceivedLine {
    std::uint64_t line = 0;  // from 0
    std::string envelope;
    std::string problem;
  };

  Result<nlohmann::json> Ask(const Question& question) override {
    if (question.path != "/producer") return Status::NotFound(question.path);
    nlohmann::json answer = ProducerJson(producers[question.parameters.at("source")]);
    if (lockstep) answer["order"] = "lockstep";
    return answer;
  }
  Result<AppendOutcome> Append(const AppendBlock& block) override {
    if (appends_left == 0) return Status::Retry("gone");
    --appends_left;
    ProducerState& producer = producers[block.source];
    if (block.first_line != producer.lines) return Status::InvalidArgument("does not follow");
    AppendOutcome outcome;
    std::string names;
    for (const SourceLine& line : block.lines) {
      const std::uint64_t number = producer.lines++;
      if (line.envelope.empty() && line.original.empty()) continue;
      received.push_back({number, line.envelope, line.problem});
      ++(line.envelope.empty() ? outcome.refused : outcome.appended);
      names += names.empty() ? "" : " ";
      names += line.envelope.empty() ? "bad"
                                     : std::string(wire::EventKindName(
                                           wire::PeekKind(line.envelope).value_or(wire::EventKind::kNone)));
    }
    blocks.push_back((block.barrier ? "| " : "") + names);
    producer.hash = block.hash;
    outcome.producer = producer;
    return outcome;
  }
  Status WaitIdle() override { return Status::Ok(); }
  Result<nlohmann::json> AskLong(const Question& question,
                                 const std::function<void(std::uint64_t, std::uint64_t)>&) override {
    return Status::NotFound("nothing answers " + question.path);
  }
  Status Close() override { return Status::Ok(); }
  [[nodiscard]] bool remote() const override { return false; }

  std::map<std::string, ProducerState> producers;
  std::vector<ReceivedLine> received;
  std::vector<std::string> blocks;  // "| app app_version" is a block with a barrier
  std::uint64_t appends_left = 1000000;
  bool lockstep = false;  // `order: lockstep`
};

std::string UserLine(int id, double time = 1000) {
  return R"({"id":)" + std::to_string(id) + R"(,"project":1,"time":)" + std::to_string(time) +
         R"(,"user":{"user":)" + std::to_string(id) + "}}\n";
}
std::string AppLine(int id) {
  return R"({"id":)" + std::to_string(id) + R"(,"project":1,"time":1000,"app":{"app":)" + std::to_string(id) +
         "}}\n";
}
std::string HostLine(int id) {
  return R"({"id":)" + std::to_string(id) + R"(,"project":1,"time":1000,"host":{"host":)" +
         std::to_string(id) + "}}\n";
}
std::string CompletionLine(int id, double time) {
  return R"({"id":)" + std::to_string(id) + R"(,"project":1,"time":)" + std::to_string(time) +
         R"(,"completion":{"result":)" + std::to_string(id) +
         R"(,"host":1,"workunit":1,"app":1,"appVersion":1,"outcome":"OUTCOME_SUCCESS","elapsedTime":1,"peakFlops":1e9,)" +
         R"("sentTime":1,"receivedTime":2}})" + "\n";
}

class IngestTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = dir_ / "events.jsonl";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    return path;
  }
  Status Take(const std::string& text, bool lockstep = false) {
    IngestOptions options{.file = Write(text), .source = "events.jsonl"};
    if (lockstep) options.lockstep = true;
    return Ingest(client_, options, {}, &summary_);
  }

  testing::TempDir dir_;
  CountingClient client_;
  IngestSummary summary_;
};

TEST_F(IngestTest, TheSameFileTwiceIsIngestedOnce) {
  const std::string text = UserLine(1) + UserLine(2) + UserLine(3);
  ASSERT_TRUE(Take(text).ok());
  EXPECT_EQ(summary_.lines, 3u);
  EXPECT_EQ(summary_.events, 3u);
  ASSERT_TRUE(Take(text).ok());
  EXPECT_EQ(summary_.known, 3u);
  EXPECT_EQ(summary_.lines, 0u);
  EXPECT_FALSE(summary_.shorter);
  EXPECT_EQ(client_.received.size(), 3u);
}

TEST_F(IngestTest, OnlyTheNewLinesOfAGrownFileAreIngested) {
  ASSERT_TRUE(Take(UserLine(1) + UserLine(2)).ok());
  ASSERT_TRUE(Take(UserLine(1) + UserLine(2) + UserLine(3) + UserLine(4)).ok());
  EXPECT_EQ(summary_.known, 2u);
  EXPECT_EQ(summary_.events, 2u);
  ASSERT_EQ(client_.received.size(), 4u);
  EXPECT_EQ(client_.received[3].line, 3u);
}

TEST_F(IngestTest, AFileWithAChangedBeginningIsAnotherSource) {
  ASSERT_TRUE(Take(UserLine(1) + UserLine(2)).ok());
  const Status changed = Take(UserLine(1) + UserLine(7) + UserLine(3));
  EXPECT_EQ(changed.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(changed.message(), HasSubstr("its first 2 lines differ from"));
  EXPECT_THAT(changed.message(), HasSubstr("--source NAME"));
  EXPECT_EQ(client_.received.size(), 2u) << "nothing was ingested";
}

TEST_F(IngestTest, AShorterFileAddsNothing) {
  ASSERT_TRUE(Take(UserLine(1) + UserLine(2) + UserLine(3)).ok());
  ASSERT_TRUE(Take(UserLine(1)).ok());
  EXPECT_TRUE(summary_.shorter);
  EXPECT_EQ(summary_.lines, 0u);
}

TEST_F(IngestTest, AnInterruptedIngestContinuesWhereItStopped) {
  std::string text;
  for (int i = 1; i <= 50000; ++i) text += UserLine(i);  // three blocks of at most 20,000 lines
  client_.appends_left = 1;
  EXPECT_EQ(Take(text).code(), StatusCode::kRetry);
  const std::uint64_t first = client_.received.size();
  EXPECT_GT(first, 0u);
  EXPECT_LE(first, 20000u);
  client_.appends_left = 1000000;
  ASSERT_TRUE(Take(text).ok());
  EXPECT_EQ(summary_.known, first);
  ASSERT_EQ(client_.received.size(), 50000u);
  for (std::size_t i = 0; i < client_.received.size(); ++i) ASSERT_EQ(client_.received[i].line, i);
}

TEST_F(IngestTest, BadLinesAreReportedByTheirNumberInAnEditor) {
  ASSERT_TRUE(Take(UserLine(1) + "\n" + "{\"id\": seven}\n" + "\n\n" + UserLine(2) + "not even that\n").ok());
  EXPECT_EQ(summary_.events, 2u);
  EXPECT_EQ(summary_.bad, 2u);
  ASSERT_EQ(summary_.bad_lines.size(), 2u);
  EXPECT_EQ(summary_.bad_lines[0].line, 3u);
  EXPECT_EQ(summary_.bad_lines[1].line, 7u);
  EXPECT_THAT(summary_.bad_lines[0].problem, ::testing::Not(IsEmpty()));
  ASSERT_EQ(client_.received.size(), 4u);
  EXPECT_EQ(client_.received[1].line, 2u) << "the pipeline counts the same lines, from 0";
  EXPECT_EQ(client_.received[3].line, 6u);
}

TEST_F(IngestTest, TheFirstTwentyBadLinesAreReported) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "bad\n";
  ASSERT_TRUE(Take(text).ok());
  EXPECT_EQ(summary_.bad, 30u);
  EXPECT_EQ(summary_.bad_lines.size(), 20u);
  EXPECT_EQ(summary_.bad_lines.back().line, 20u);
}

TEST_F(IngestTest, BroadcastsHaveTheirOwnBlocks) {
  ASSERT_TRUE(Take(AppLine(1) + AppLine(2) + UserLine(1) + UserLine(2) + AppLine(3) + UserLine(3)).ok());
  EXPECT_THAT(client_.blocks, ElementsAre("| app app", "user user", "| app", "user"));
}

// 599 s and 601 s are on different sides of the tick at 600 s. The gap from 1201 s to 259,900 s is one step, to
// the tick at 259,800 s.
TEST_F(IngestTest, InLockstepTicksAreMadeInTheirOwnBlocks) {
  ASSERT_TRUE(Take(CompletionLine(1, 599) + CompletionLine(2, 601) + CompletionLine(3, 1201) +
                       UserLine(1, 1202) + CompletionLine(4, 259900),
                   true)
                  .ok());
  EXPECT_THAT(client_.blocks, ElementsAre("completion", "| tick", "completion", "| tick", "completion",
                                          "| user", "| tick", "completion"));
  const auto tick = wire::PeekEventTime(client_.received[6].envelope);
  EXPECT_EQ(tick, 259800);
  EXPECT_EQ(summary_.completions, 4u);
}

TEST_F(IngestTest, ASourceIngestedInLockstepIsKnownInLockstep) {
  const std::string text = CompletionLine(1, 599) + CompletionLine(2, 601);
  ASSERT_TRUE(Take(text, true).ok());
  ASSERT_TRUE(Take(text, true).ok());
  EXPECT_EQ(summary_.known, 3u) << "two completions and a tick";
  EXPECT_EQ(summary_.lines, 0u);
  EXPECT_EQ(Take(text + CompletionLine(3, 602) + CompletionLine(4, 603)).code(),
            StatusCode::kInvalidArgument);
}

// The pipeline sets lockstep, not the command line. Bad lines do not end a block, and a mark belongs to no period.
TEST_F(IngestTest, InLockstepEachKindHasItsOwnBlocksAndTheLastBlockIsEmpty) {
  client_.lockstep = true;
  const std::string text = AppLine(1) + AppLine(2) + UserLine(1, 598) + UserLine(2, 598) + HostLine(1) +
                           HostLine(2) + CompletionLine(1, 1001) + "bad\n" + CompletionLine(2, 1002) +
                           UserLine(3) + R"({"id":4,"mark":{"number":5}})" + "\n" + CompletionLine(3, 1201) +
                           R"({"id":77,"barrier":{}})" + "\n";
  ASSERT_TRUE(Take(text).ok());
  EXPECT_TRUE(summary_.lockstep);
  EXPECT_THAT(client_.blocks,
              ElementsAre("| app app", "| user user", "| host host", "completion bad completion", "| user",
                          "mark", "| tick", "completion", "| barrier", "| "));
  const std::uint64_t lines = client_.producers.at("events.jsonl").lines;
  ASSERT_TRUE(Take(text).ok());
  EXPECT_EQ(summary_.lines, 0u);
  EXPECT_EQ(client_.producers.at("events.jsonl").lines, lines) << "the last block has no line of the source";
  ASSERT_TRUE(Take(text + CompletionLine(4, 1203)).ok());
  EXPECT_EQ(summary_.lines, 1u);
}

TEST_F(IngestTest, EventsBeforeADamagedEndAreIngested) {
  // A record of ten bytes, cut off after three.
  const std::string first = wire::EncodeEvent(
      {.head = {.id = 1, .project = ProjectId(1), .time = 5}, .body = wire::UserMember{.user = UserId(1)}});
  std::string text;
  text += static_cast<char>(first.size());
  text += first + std::string("\x0a\x08\x02\x10", 4);
  const Status status = Take(text);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_EQ(summary_.events, 1u);
  EXPECT_EQ(client_.received.size(), 1u);
}

TEST_F(IngestTest, TheLineOfARefusedEventIsFound) {
  ASSERT_TRUE(Take(UserLine(1) + "\n" + UserLine(2) + UserLine(1)).ok());
  const std::string one = client_.received[0].envelope;
  const std::string two = client_.received[1].envelope;
  const auto file = EventFile::Open(dir_ / "events.jsonl");
  ASSERT_TRUE(file.ok());
  const auto lines = FindLines(**file, {two, one, one, "another"});
  ASSERT_TRUE(lines.ok());
  EXPECT_THAT(*lines, ElementsAre(3u, 1u, 4u, 0u));
}

TEST_F(IngestTest, AMissingFileIsNotFound) {
  const Status status = Ingest(client_, {.file = dir_ / "nothing.jsonl", .source = "x"}, {}, &summary_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace cobblestone
