// Batches over HTTP, ingested by a sink that only counts: their owners, the lines that are read, and the memory
// that batches need.
#include "services/access/event_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"
#include "services/events/event_file.h"
#include "services/intake/block_maker.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using access::BatchIngest;
using access::EventSink;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::ProducerState;
using intake::SourceLine;

namespace {

using gateway::EventBatch;
using gateway::IngestRights;
using gateway::Sender;
using ::testing::HasSubstr;

// Counts the ingested events and keeps the position of each source.
class CountingSink final : public EventSink {
 public:
  struct Seen {
    std::map<std::string, ProducerState> sources;
    std::uint64_t blocks = 0;
    std::uint64_t events = 0;
    std::uint64_t refused = 0;
    std::size_t largest_block = 0;      // bytes
    std::vector<std::string> problems;  // of the refused lines, at most 10,000
    std::string problem;                // of the last refused line
    std::string shape;                  // the lines of each block, with ! for a barrier
  };
  explicit CountingSink(Seen& seen) : seen_(seen) {}

  [[nodiscard]] bool lockstep() const override { return false; }
  Result<ProducerState> Look(const std::string& source) override { return Producer(source); }
  Result<ProducerState> Producer(const std::string& source) override { return seen_.sources[source]; }
  Result<ProducerState> BatchBegin(const std::string&) override { return ProducerState{}; }
  Status Append(const std::function<bool(AppendBlock*)>& next,
                const std::function<void(const AppendOutcome&)>& done) override {
    for (AppendBlock block; next(&block); ++seen_.blocks) {
      AppendOutcome outcome;
      std::size_t bytes = 0;
      for (const SourceLine& line : block.lines) {
        bytes += line.envelope.size() + line.original.size();
        outcome.appended += line.envelope.empty() ? 0 : 1;
        outcome.refused += line.problem.empty() ? 0 : 1;
        if (!line.problem.empty()) seen_.problem = line.problem;
        if (!line.problem.empty() && seen_.problems.size() < 10000) seen_.problems.push_back(line.problem);
      }
      seen_.largest_block = std::max(seen_.largest_block, bytes);
      seen_.shape +=
          (seen_.shape.empty() ? "" : " ") + std::to_string(block.lines.size()) + (block.barrier ? "!" : "");
      seen_.events += outcome.appended;
      seen_.refused += outcome.refused;
      ProducerState& source = seen_.sources[block.source];
      EXPECT_EQ(block.first_line, source.lines);
      outcome.producer = {.lines = block.first_line + block.lines.size(),
                          .hash = block.hash,
                          .owner = block.owner.empty() ? source.owner : block.owner};
      source = outcome.producer;
      done(outcome);
    }
    return Status::Ok();
  }

 private:
  Seen& seen_;
};

constexpr const char* kUser = R"({"id":"1","project":1,"time":1,"user":{"user":"1","name":"Ada"}})";
constexpr const char* kApp = R"({"id":"1","project":1,"time":1,"app":{"app":"1","name":"a"}})";

class EventBatches : public ::testing::Test {
 protected:
  gateway::EventOutcome Take(EventBatch batch) {
    if (batch.source.empty()) batch.source = "s";
    auto outcome = ingest_.Take(batch);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? *outcome : gateway::EventOutcome{};
  }

  CountingSink::Seen seen_;
  BatchIngest ingest_{std::make_unique<CountingSink>(seen_)};
};

// Two events per second and project, a burst of 1 s.
class Charged : public EventBatches {
 protected:
  Charged() : ingest_(std::make_unique<CountingSink>(seen_), &quotas_) {}

  gateway::EventOutcome Send(const std::string& body, std::uint64_t first_line,
                             const gateway::IngestRights* rights = nullptr) {
    auto outcome = ingest_.Take({.source = "s",
                                 .sender = {},
                                 .rights = rights,
                                 .first_line = first_line,
                                 .body = body,
                                 .refuse_bad_lines = true});
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? *outcome : gateway::EventOutcome{};
  }
  static settings::RunSettings TwoEvents() {
    settings::RunSettings settings;
    settings.quota = {.events_per_second = 2, .burst = std::chrono::seconds(1)};
    return settings;
  }

  intake::Quotas quotas_{TwoEvents(), [] { return 0.0; }};  // time stands still
  BatchIngest ingest_;
};

TEST_F(Charged, ABatchBeyondTheQuotaIsRefusedWholeAndTheSameLinesAreAcceptedLater) {
  const std::string user = std::string(kUser) + "\n";
  EXPECT_EQ(Send(user + user + user, 0).appended, 3u);  // a debt of one event
  const auto refused = Send(user + user, 3);
  ASSERT_TRUE(refused.throttled);
  EXPECT_EQ(refused.throttled->project, ProjectId(1));
  EXPECT_EQ(refused.throttled->quota, "events_per_second");
  EXPECT_EQ(refused.throttled->message, "project 1 is beyond its quota of 2 events per second");
  EXPECT_DOUBLE_EQ(refused.throttled->wait, 0.5);
  EXPECT_EQ(refused.appended, 0u);
  EXPECT_EQ(refused.lines, 3u);
  EXPECT_EQ(seen_.events, 3u);
}

TEST_F(Charged, RepeatedAndBlankLinesCostNothing) {
  const std::string user = std::string(kUser) + "\n";
  EXPECT_EQ(Send(user + "\n\n\n", 0).appended, 1u);
  for (int again = 0; again < 5; ++again) EXPECT_EQ(Send(user + "\n\n\n", 0).repeated, 4u);
  EXPECT_EQ(Send(user + "\n\n\n" + user, 0).appended, 1u);  // the second and last event
  EXPECT_TRUE(Send(user, 5).throttled);
  EXPECT_EQ(quotas_.Look().at(0).events, 2u);
}

TEST_F(Charged, LinesWithoutAProjectCountForTheFirstProjectOfTheSender) {
  const auto rights = gateway::IngestRights::Parse("7,8", "all");
  EXPECT_EQ(Send("no event\nno event\nno event\n", 0, &*rights).bad_lines, 3u);
  EXPECT_EQ(Send("no event\n", 3, &*rights).throttled.value_or(gateway::Throttled{}).project, ProjectId(7));
  EXPECT_FALSE(ingest_.Throttle(*rights)) << "project 8 may send";
  const auto seventh = gateway::IngestRights::Parse("7", "all");
  EXPECT_TRUE(ingest_.Throttle(*seventh));
  const auto every = gateway::IngestRights::Parse("*", "all");
  EXPECT_FALSE(ingest_.Throttle(*every));
  EXPECT_EQ(Send("no event\n", 3, &*every).bad_lines, 1u) << "counts for project 0";
}

std::string Times(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST_F(EventBatches, IsReadUpToItsFirst100BadLines) {
  const std::string body = Times("no event\n", 1000) + kUser + "\n";
  const auto outcome = Take({.body = body});
  EXPECT_EQ(outcome.bad.size(), 100u);
  EXPECT_EQ(outcome.bad_lines, 100u);
  EXPECT_EQ(outcome.bad.back().line, 99u);
  EXPECT_EQ(outcome.appended, 0u);
  EXPECT_EQ(seen_.blocks, 0u);
}

TEST_F(EventBatches, RefusesAllBadLinesAndListsTheFirst100) {
  const std::string body = Times("no event\n", 1000) + kUser + "\n";
  const auto outcome = Take({.body = body, .refuse_bad_lines = true});
  EXPECT_EQ(outcome.bad.size(), 100u);
  EXPECT_EQ(outcome.bad_lines, 1000u);
  EXPECT_EQ(outcome.appended, 1u);
  EXPECT_EQ(outcome.lines, 1001u);
  EXPECT_EQ(seen_.refused, 1000u);
}

// The first pass keeps the reasons for the second.
TEST_F(EventBatches, EachBadLineIsRefusedForItsOwnReason) {
  std::string body;
  std::vector<std::string> reasons;
  for (int i = 0; i < 1500; ++i) {  // more reasons than are kept
    body += "{\"field" + std::to_string(i) + "\":1}\nno event\n" + kUser + "\n{}\n";
    reasons.push_back("not an event in JSON: field" + std::to_string(i) + ": Cannot find field.");
    reasons.push_back("not an event in JSON: the line does not begin with {");
    reasons.push_back("the event has no fields");
  }
  const auto outcome = Take({.body = body, .refuse_bad_lines = true});
  EXPECT_EQ(outcome.appended, 1500u);
  EXPECT_EQ(outcome.bad_lines, 4500u);
  EXPECT_EQ(seen_.problems, reasons);
}

TEST_F(EventBatches, ALongReasonIsTruncated) {
  const std::string body = "{\"id\":\"1\",\"" + std::string(100000, 'x') + "\":1}\n";
  const auto outcome = Take({.body = body, .refuse_bad_lines = true});
  ASSERT_EQ(outcome.bad.size(), 1u);
  EXPECT_LT(outcome.bad[0].reason.size(), 400u);
  EXPECT_LT(seen_.problem.size(), 400u);
}

TEST_F(EventBatches, RepeatedLinesAreKnownAndBroadcastsHaveOwnBlocks) {
  const std::string good = std::string(kUser) + "\n";
  const std::string broadcast = std::string(kApp) + "\n";
  const std::string body = good + "\n" + broadcast + broadcast + good + "bad\n  \r\n" + good;
  auto outcome = Take({.body = body, .refuse_bad_lines = true});
  EXPECT_EQ(outcome.appended, 5u);
  EXPECT_EQ(outcome.lines, 8u);
  EXPECT_EQ(seen_.blocks, 3u);
  outcome = Take({.body = body + broadcast, .refuse_bad_lines = true});
  EXPECT_EQ(outcome.repeated, 8u);
  EXPECT_EQ(outcome.appended, 1u);
  EXPECT_EQ(outcome.lines, 9u);
  const std::string other = good + good;
  EXPECT_NE(Take({.body = other + body, .refuse_bad_lines = true}).conflict, "");
}

TEST_F(EventBatches, AHostMergeIsAppendedWhenEarlierMergesOfItsHostsAreDone) {
  const auto merge = [](int host, int into) {
    return R"({"id":"1","project":1,"time":1,"host_merge":{"host":")" + std::to_string(host) +
           R"(","into":")" + std::to_string(into) + "\"}}\n";
  };
  // Two merges into each other, two unrelated merges, a chain, and two merges into the same host.
  const std::string body = merge(1, 2) + merge(2, 1) + merge(3, 4) + merge(5, 6) + std::string(kUser) + "\n" +
                           merge(4, 7) + merge(8, 7) + kUser + "\n";
  Take({.body = body});
  EXPECT_EQ(seen_.shape, "1 1! 3 1! 1! 1");
}

TEST_F(EventBatches, AForbiddenEventForbidsTheWholeBatch) {
  const auto rights = IngestRights::Parse("1", "members");
  const std::string body = std::string(kUser) + "\nbad\n" + kApp + "\n" +
                           R"({"id":"1","project":2,"time":1,"user":{"user":"1"}})" + "\n";
  for (const bool refuse : {false, true}) {
    const auto outcome = Take({.rights = &*rights, .body = body, .refuse_bad_lines = refuse});
    ASSERT_EQ(outcome.forbidden.size(), 2u);
    EXPECT_EQ(outcome.forbidden[0].line, 2u);
    EXPECT_EQ(outcome.forbidden[0].reason, "an event of kind app of project 1");
    EXPECT_EQ(outcome.forbidden[1].line, 3u);
    EXPECT_EQ(outcome.forbidden[1].reason, "an event of kind user of project 2");
  }
  const std::string many = Times(std::string(kApp) + "\n", 1000);
  EXPECT_EQ(Take({.rights = &*rights, .body = many}).forbidden.size(), 100u);
  EXPECT_EQ(seen_.blocks, 0u);
  EXPECT_EQ(Take({.rights = &*rights, .body = kUser}).appended, 1u);
}

// A project says its name, mode and URL itself. What follows from the operator's decisions about it is the operator's to say.
TEST_F(EventBatches, AProjectDecidesNothingThatIsTheHubOperators) {
  const auto project = IngestRights::Parse("4", "feeds");
  const auto by_the_operator = IngestRights::Parse("*", "feeds,hub_settings");
  const std::string own =
      R"({"id":"1","project":4,"time":1,"feed_project":{"name":"Elm","url":"https://elm.example/","mode":"FEED_MODE_DIRECT"}})";
  EXPECT_EQ(Take({.rights = &*project, .body = own}).appended, 1u);
  const auto about_project = [](const std::string& field) {
    return R"({"id":"2","project":4,"time":1,"feed_project":{"name":"Elm","mode":"FEED_MODE_DIRECT",)" +
           field + "}}\n";
  };
  const auto about_edition = [](const std::string& fields) {
    return R"({"id":"3","project":4,"time":1,"feed_edition":{"edition":"5",)" + fields + "}}\n";
  };
  const std::vector<std::pair<std::string, std::string>> forbidden = {
      {about_project(R"("retired":true)"), "retired"},
      {about_project(R"("retired":false)"), "retired"},
      {about_project(R"("ownership_key":"")"), "ownership_key"},
      {about_project(R"("points_per_cobblestone":0.001)"), "points_per_cobblestone"},
      {about_project(R"("erase_after":1)"), "erase_after"},
      {about_project(R"("shared_accounts":{"users":["5"]})"), "shared_accounts"},
      {about_project(R"("shared_accounts":{})"), "shared_accounts"},
      {about_project(R"("account_manager":false)"), "account_manager"},
      {about_project(R"("points_since":"0")"), "points_since"},
      {about_edition(R"("state":"EDITION_STATE_COMPLETE","released":true)"), "released"},
      {about_edition(R"("state":"EDITION_STATE_COMPLETE","reason":"released by an operator")"), "reason"},
  };
  int number = 0;
  for (const auto& [event, field] : forbidden) {
    const std::string source = "of field " + std::to_string(++number);
    const std::uint64_t before = seen_.events;
    const auto outcome = Take({.source = source, .rights = &*project, .body = own + "\n" + event});
    ASSERT_EQ(outcome.forbidden.size(), 1u) << event;
    EXPECT_EQ(outcome.forbidden[0].line, 1u) << event;
    EXPECT_THAT(outcome.forbidden[0].reason,
                HasSubstr("event with the field " + field + ", which only the operator of the hub decides"));
    EXPECT_EQ(seen_.events, before) << "the batch is refused whole";
    EXPECT_EQ(Take({.source = source, .rights = &*by_the_operator, .body = event}).appended, 1u) << event;
    EXPECT_EQ(Take({.source = source + ", local", .body = event}).appended, 1u) << event;
  }
  for (const char* fields : {R"("state":"EDITION_STATE_BEGUN","whole":true)",
                             R"("state":"EDITION_STATE_HELD","reason":"the project's disk is full")",
                             R"("state":"EDITION_STATE_COMPLETE")"})
    EXPECT_EQ(Take({.source = fields, .rights = &*project, .body = about_edition(fields)}).appended, 1u)
        << fields;
}

TEST_F(EventBatches, ASourceBelongsToTheSenderThatUsedItFirst) {
  const Sender first{.name = "", .digest = "sha256:aa"};
  const Sender other{.name = "", .digest = "sha256:bb"};
  const Sender named{.name = "server1", .digest = "sha256:aa"};
  const Sender rotated{.name = "server1", .digest = "sha256:cc"};
  // A batch without lines does not make its sender the owner.
  EXPECT_FALSE(Take({.source = "s", .sender = other}).others_source);
  const std::string line = std::string(kUser) + "\n";
  EXPECT_EQ(Take({.source = "s", .sender = first, .body = line}).lines, 1u);
  const auto rejected = Take({.source = "s", .sender = other, .first_line = 1, .body = line});
  EXPECT_TRUE(rejected.others_source);
  EXPECT_EQ(rejected.lines, 0u) << "the answer says nothing about the source";
  EXPECT_TRUE(Take({.source = "s", .sender = rotated, .first_line = 1, .body = line}).others_source);
  // The first sender gets a name. From then on the source belongs to the name.
  EXPECT_EQ(Take({.source = "s", .sender = named, .first_line = 1, .body = line}).lines, 2u);
  EXPECT_EQ(seen_.sources["s"].owner, "server1");
  EXPECT_EQ(Take({.source = "s", .sender = rotated, .first_line = 2, .body = line}).lines, 3u);
  EXPECT_TRUE(Take({.source = "s", .sender = first, .first_line = 3, .body = line}).others_source);
  // A source that was ingested from a file belongs to the operator.
  EXPECT_EQ(Take({.source = "file", .body = line}).lines, 1u);
  EXPECT_TRUE(Take({.source = "file", .sender = first, .first_line = 1, .body = line}).others_source);
  EXPECT_EQ(Take({.source = "s", .first_line = 3, .body = line}).lines, 4u)
      << "the operator may use every source";
  EXPECT_EQ(seen_.sources["s"].owner, "server1");
}

// One message for the body, also with bad_lines=refuse, and nothing is ingested.
TEST_F(EventBatches, ABodyOfAnotherFormatIsNamed) {
  using namespace std::string_literals;
  constexpr auto kJson = EventBatch::Format::kJsonLines;
  constexpr auto kProtobuf = EventBatch::Format::kDelimited;
  const std::string line = std::string(kUser) + "\n";
  const std::string envelope = *wire::EnvelopeFromJson(kUser);
  const std::string delimited = std::string(1, static_cast<char>(envelope.size())) + envelope;
  struct Case {
    EventBatch::Format format;
    std::string body;
    const char* what;
    const char* remedy;
  };
  for (const Case& c :
       {Case{kProtobuf, line, "JSON, but its Content-Type is application/x-protobuf", "x-ndjson"},
        Case{kJson, delimited, "length-delimited protobuf, but its Content-Type is JSON", "x-protobuf"},
        Case{kJson, "\x1f\x8b\x08\0\0\0\0\0"s, "gzip data", "Content-Encoding"},
        Case{kProtobuf, "\x1f\x8b\x08\0\0\0\0\0"s, "gzip data", "Content-Encoding"},
        Case{kJson, "[" + line + "]", "a JSON array", "one event per line"},
        Case{kJson, "{\n  \"id\": 1\n}\n", "one object over several lines", "one event per line"},
        Case{kJson, "<html>\n<body>", "an HTML page", "one event per line"}}) {
    const auto outcome =
        ingest_.Take({.source = "s", .format = c.format, .body = c.body, .refuse_bad_lines = true});
    ASSERT_FALSE(outcome.ok()) << c.what;
    EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(outcome.status().message(), HasSubstr(c.what));
    EXPECT_THAT(outcome.status().message(), HasSubstr(c.remedy));
  }
  EXPECT_EQ(seen_.blocks, 0u);
  // In the middle of a source such a line is a bad line.
  EXPECT_EQ(Take({.body = line}).lines, 1u);
  const std::string rest = "[\n" + line;
  EXPECT_EQ(Take({.first_line = 1, .body = rest, .refuse_bad_lines = true}).bad_lines, 1u);
}

TEST_F(EventBatches, AByteOrderMarkIsNotPartOfTheFirstLineOfASource) {
  const std::string line = std::string(kUser) + "\n";
  const std::string marked = "\xef\xbb\xbf" + line;
  EXPECT_EQ(Take({.body = marked}).appended, 1u);
  EXPECT_EQ(Take({.body = line}).repeated, 1u) << "the same source without the mark";
}

// A file is read in pieces, and a body at once.
class SameAsInAFile : public EventBatches {
 protected:
  struct Lines {
    std::map<std::uint64_t, std::string> problems;  // by line, from 0
    std::uint64_t lines = 0;
    stream::Hash128 hash;
    std::string error;
  };
  static Lines File(const std::string& bytes) {
    const testing::TempDir dir;
    std::ofstream(dir / "f", std::ios::binary) << bytes;
    Lines read;
    auto file = events::EventFile::Open(dir / "f");
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok()) return read;
    const Status end = (*file)->ForEach([&](const events::EventItem& item) {
      for (; read.lines < item.line; ++read.lines) read.hash = intake::ChainLine(read.hash, {});
      read.hash = intake::ChainLine(read.hash, item.raw);
      std::string problem = item.bad() ? item.problem : intake::ProblemOf(wire::PeekRouting(item.envelope));
      if (!problem.empty()) read.problems[read.lines] = problem;
      ++read.lines;
      return Status::Ok();
    });
    const std::size_t path = end.ok() ? 0 : (dir / "f").size() + 2;  // "PATH: "
    read.error = end.message().substr(path);
    return read;
  }
  Lines Batch(EventBatch::Format format, const std::string& bytes) {
    Lines read;
    const auto outcome =
        ingest_.Take({.source = "same", .format = format, .body = bytes, .refuse_bad_lines = true});
    if (!outcome.ok()) return {.problems = {}, .lines = 0, .hash = {}, .error = outcome.status().message()};
    for (const auto& bad : outcome->bad) read.problems[bad.line] = bad.reason;
    read.lines = outcome->lines;
    read.hash = seen_.sources["same"].hash;
    return read;
  }
};

TEST_F(SameAsInAFile, LinesHaveTheSameProblemsAndTheSameHash) {
  // A line of exactly 1 MiB is an event, one byte more is too long; a carriage return does not count.
  const std::string longest = std::string(kUser) + std::string((1u << 20) - std::string(kUser).size(), ' ');
  const std::string own = R"({"id":"1","project":1,"watermark":{"number":1}})";
  const std::string bytes = "\xef\xbb\xbf" + std::string(kUser) + "\r\n\n \t\r\n{}\nno event\n" + longest +
                            "\r\n" + longest + " \n{" + std::string(3u << 20, 'x') + "\n{\"colour\":1}\n" +
                            own + "\n" + kUser;
  const Lines file = File(bytes);
  const Lines batch = Batch(EventBatch::Format::kJsonLines, bytes);
  EXPECT_EQ(file.error, "");
  EXPECT_EQ(file.lines, 11u);
  EXPECT_EQ(batch.lines, 11u);
  EXPECT_EQ(batch.problems, file.problems);
  EXPECT_EQ(batch.hash, file.hash);
  std::vector<std::uint64_t> bad;
  for (const auto& [line, problem] : file.problems) bad.push_back(line);
  EXPECT_EQ(bad, (std::vector<std::uint64_t>{3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(file.problems.at(3), "the event has no fields");
  EXPECT_EQ(file.problems.at(4), "not an event in JSON: the line does not begin with {");
  EXPECT_EQ(file.problems.at(6), "a line of more than 1 MiB, the limit for events");
}

TEST_F(SameAsInAFile, RecordsHaveTheSameProblemsAndTheSameErrors) {
  constexpr auto kDelimited = EventBatch::Format::kDelimited;
  const std::string envelope = *wire::EnvelopeFromJson(kUser);
  const std::string good = std::string(1, static_cast<char>(envelope.size())) + envelope;
  const std::string mixed = good + std::string(1, '\0') +
                            "\x04\x0f"
                            "bad" +
                            good;
  const Lines file = File(mixed);
  EXPECT_EQ(file.problems, (std::map<std::uint64_t, std::string>{{1, "the event has no fields"},
                                                                 {2, "the bytes are not an Envelope"}}));
  const Lines batch = Batch(kDelimited, mixed);
  EXPECT_EQ(batch.problems, file.problems);
  EXPECT_EQ(batch.hash, file.hash);
  EXPECT_EQ(batch.lines, 4u);
  for (const std::string& damaged : {good + "\x7f"
                                            "abc",
                                     good + "\xff\xff\xff\x7f"
                                            "abc",
                                     good + std::string(200, '\0')}) {
    std::string error = File(damaged).error;
    EXPECT_THAT(error, HasSubstr("record 1 (counted from 0)"));
    for (std::size_t at; (at = error.find("the file")) != std::string::npos;)
      error.replace(at, 8, "the body");
    EXPECT_EQ(Batch(kDelimited, damaged).error, error);
  }
}

TEST_F(EventBatches, HasAMillionLinesAtMost) {
  const std::string most(1'000'000, '\n');
  EXPECT_EQ(Take({.body = most}).lines, 1'000'000u);
  const std::string more = most + "\n";
  const auto outcome = ingest_.Take({.source = "t", .body = more});
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.status().message(), HasSubstr("send smaller batches"));
}

// ---- Memory --------------------------------------------------------------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Peak memory in kB since the last ResetPeakMemory().
std::size_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6));
  return 0;
}
void ResetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

TEST(EventBatchMemory, IsAtMostFourTimesTheBodyForAnyContent) {
  constexpr std::size_t kBody = 16u << 20;
  const std::string zero(1, '\0');
  struct Case {
    const char* name;
    std::string line;
    EventBatch::Format format = EventBatch::Format::kJsonLines;
  };
  const std::string long_name =
      R"({"id":"1","project":1,"time":1,"user":{"user":"1","name":")" + std::string(1000000, 'N') + "\"}}\n";
  for (const Case& c :
       {Case{"empty lines", "\n"}, Case{"lines of one letter", "x\n"}, Case{"objects without fields", "{}\n"},
        Case{"records without bytes", zero, EventBatch::Format::kDelimited},
        Case{"records of one byte", std::string("\1\0", 2), EventBatch::Format::kDelimited},
        Case{"users", std::string(kUser) + "\n"}, Case{"long names", long_name},
        Case{"broadcasts alternating with other events", std::string(kApp) + "\n" + kUser + "\n"},
        Case{"a line that is longer as an Envelope",
             R"({"project":1,"estimatedCredit":{"counters":[{},{},{},{},{},{},{},{},{},{},{},{},{}]}})"
             "\n"},
        Case{"deep nesting", "{\"a\":" + Times("[", 900000) + "\n"}, Case{"one line without end", "{1,"}}) {
    const int ended = testing::RunInChild([&] {
      const std::string body = Times(c.line, kBody / c.line.size());
      CountingSink::Seen seen;
      BatchIngest ingest(std::make_unique<CountingSink>(seen));
      ResetPeakMemory();
      const std::size_t before = PeakMemory();
      (void)ingest.Take({.source = "s", .format = c.format, .body = body, .refuse_bad_lines = true});
      const std::size_t grown = PeakMemory() - std::min(before, PeakMemory());
      EXPECT_LE(grown, 3 * kBody / 1024) << "kB beside the body: " << c.name;
      EXPECT_LE(seen.largest_block, 3u << 20) << c.name;
    });
    EXPECT_EQ(ended, 0) << c.name;
  }
}

#endif

}  // namespace
}  // namespace cobblestone
