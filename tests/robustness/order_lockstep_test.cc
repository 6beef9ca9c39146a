// `order: lockstep`: a running pipeline with any number of partitions and threads, killed at any point, is
// bit-identical to a replay of the same file: every grant, every total with its recent average, every average
// of a host and version.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <bit>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "common/base/failpoint.h"
#include "common/credit/policies/policy.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/access/ingest.h"
#include "services/replay/replay.h"
#include "tests/robustness/corrected_traffic.h"
#include "tests/robustness/traffic.h"
#include "tests/support/control_totals_of.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using access::Client;
using access::ClientOf;
using access::Ingest;
using access::IngestSummary;
using access::Question;
using embedded::Engine;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::SourceLine;
using replay::Replay;
using replay::ReplayOptions;

namespace {

using nlohmann::json;
using testing::RestlessOptions;
using testing::RestlessTraffic;
using testing::RunInChild;
using testing::TempDir;
using testing::WithCorrections;

constexpr double kStart = 1.7e9;

struct Replayed {
  std::map<std::uint64_t, json> grants;  // by result
  std::vector<json> state;
};

// Writes the traffic to `file` and replays it, in a child process, so that this process may start others.
Replayed ReplayOf(const TempDir& dir, const std::string& file, std::uint32_t partitions,
                  const std::function<std::vector<testing::Event>()>& traffic) {
  ReplayOptions options;
  options.file = file;
  options.partitions = partitions;
  options.grants_out = dir / "grants.jsonl";
  options.state_out = dir / "state.jsonl";
  EXPECT_EQ(RunInChild([&] {
              testing::WriteTraffic(traffic(), file);
              const auto summary = Replay(options);
              EXPECT_TRUE(summary.ok()) << summary.status().message();
            }),
            0);
  Replayed replayed;
  std::ifstream grants(options.grants_out);
  for (std::string line; std::getline(grants, line);) {
    json row = json::parse(line);
    if (row.contains("kind")) continue;  // of a trickle: compared through the outcome hash
    const std::uint64_t result = row.at("result");
    EXPECT_TRUE(replayed.grants.emplace(result, std::move(row)).second) << result << " twice";
  }
  std::ifstream state(options.state_out);
  for (std::string line; std::getline(state, line);) replayed.state.push_back(json::parse(line));
  return replayed;
}

std::string MicroText(const json& micro) {
  const auto value = micro.get<std::int64_t>();
  char text[64];
  const auto size = static_cast<long long>(std::abs(value));
  std::snprintf(text, sizeof text, "%s%lld.%06lld", value < 0 ? "-" : "", size / 1000000, size % 1000000);
  return text;
}

#define EXPECT_SAME_BITS(a, b, what)                         \
  EXPECT_EQ(std::bit_cast<std::uint64_t>((a).get<double>()), \
            std::bit_cast<std::uint64_t>((b).get<double>())) \
      << (what)

void ExpectAsReplayed(Engine& engine, const Replayed& replayed) {
  std::size_t grants = 0;
  for (std::uint32_t p = 0; p < engine.pipeline().partitions; ++p) {
    const Status read = engine.ForEachRecord({wire::kGrants, p}, [&](std::uint64_t, std::string_view record) {
      wire::Grant grant;
      EXPECT_TRUE(wire::DecodeGrant(record, &grant));
      if (grant.head.kind != wire::GrantKind::kFinal) return true;
      ++grants;
      const auto expected = replayed.grants.find(grant.head.result.value);
      if (expected == replayed.grants.end()) {
        ADD_FAILURE() << "result " << grant.head.result.value << " has no grant in the replay";
        return true;
      }
      const json& row = expected->second;
      const std::string what = "result " + std::to_string(grant.head.result.value);
      EXPECT_EQ(row.at("credit_micro"), grant.head.credit_micro) << what;
      EXPECT_EQ(row.at("user"), grant.claim->user.value) << what;
      EXPECT_EQ(row.at("mode"), credit::ModeName(grant.detail.mode)) << what;
      EXPECT_SAME_BITS(row.at("credit"), json(grant.detail.credit), what);
      EXPECT_SAME_BITS(row.at("claimed"), json(grant.claim->claimed), what);
      EXPECT_SAME_BITS(row.at("pfc"), json(grant.claim->pfc), what);
      return true;
    });
    ASSERT_TRUE(read.ok()) << read.message();
  }
  EXPECT_EQ(grants, replayed.grants.size());

  std::map<std::string, std::size_t> compared;
  for (const json& row : replayed.state) {
    const std::string kind = row.at("kind");
    ++compared[kind];
    if (kind == "host" || kind == "user" || kind == "team") {
      const auto account = engine.questions().Account(ProjectId(1),
                                                      kind == "host"   ? wire::AccountKind::kHost
                                                      : kind == "user" ? wire::AccountKind::kUser
                                                                       : wire::AccountKind::kTeam,
                                                      row.at("id"));
      ASSERT_TRUE(account.ok()) << account.status().message();
      EXPECT_EQ(account->at("total"), MicroText(row.at("total_micro"))) << row;
      EXPECT_SAME_BITS(account->at("rac"), row.at("rac"), row.dump());
      EXPECT_SAME_BITS(account->at("rac_time"), row.at("rac_time"), row.dump());
    } else if (kind == "host_version") {
      const auto answer = engine.questions().HostVersions(
          ProjectId(1), HostId(row.at("host")), AppVersionId(row.at("app_version")), AppId(row.at("app")));
      ASSERT_TRUE(answer.ok()) << answer.status().message();
      for (const char* average : {"pfc", "et", "turnaround"}) {
        const json& is = answer->at("rows").at(0).at(average);
        EXPECT_SAME_BITS(is.at("n"), row.at(average).at("n"), row.dump());
        EXPECT_SAME_BITS(is.at("mean"), row.at(average).at("avg"), row.dump());
      }
    }
  }
  EXPECT_GT(compared["host"], 35u);
  EXPECT_GT(compared["user"], 8u);
  EXPECT_GE(compared["team"], 1u);
  EXPECT_GT(compared["host_version"], 60u);
  const auto totals = testing::ControlTotalsOf(engine, ProjectId(1), false);
  EXPECT_TRUE(totals.ok()) << totals.status().message();
  const auto audit = engine.Audit({});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
  EXPECT_EQ((*audit)["host_merges"], 5);
  EXPECT_EQ((*audit)["host_merges_waiting"], 0);
  EXPECT_EQ((*audit)["host_merges_refused"], 1);
  for (const std::uint64_t host : {7, 9, 10, 11}) {
    const auto account = engine.questions().Account(ProjectId(1), wire::AccountKind::kHost, host);
    ASSERT_TRUE(account.ok()) << account.status().message();
    EXPECT_EQ(account->value("merged", false), true) << "host " << host;
  }
}

settings::RunSettings Settings(const std::string& directory, std::uint32_t partitions,
                               std::uint32_t threads) {
  settings::RunSettings settings = testing::BusySettings(directory);
  settings.partitions = partitions;
  settings.threads = threads;
  settings.order = settings::Order::kLockstep;
  settings.sync = false;  // the process dies here, not the machine
  return settings;
}

// Splits blocks after each line, as a pipe that pauses there would.
class BlockSplittingClient : public Client {
 public:
  explicit BlockSplittingClient(Engine& engine) : engine_(ClientOf(engine)) {}

  Result<json> Ask(const Question& question) override { return engine_->Ask(question); }
  Result<AppendOutcome> Append(const AppendBlock& block) override {
    if (block.lines.empty()) return engine_->Append(block);
    AppendBlock part = block;
    Result<AppendOutcome> outcome = AppendOutcome{};
    for (std::size_t at = 0; at < block.lines.size(); ++at) {
      part.first_line = block.first_line + at;
      part.lines.assign(1, block.lines[at]);
      part.ends_period = block.ends_period && at == 0;
      outcome = engine_->Append(part);
      if (!outcome.ok()) break;
    }
    return outcome;
  }
  Status WaitIdle() override { return engine_->WaitIdle(); }
  Result<json> AskLong(const Question& question,
                       const std::function<void(std::uint64_t, std::uint64_t)>& progress) override {
    return engine_->AskLong(question, progress);
  }
  Status Close() override { return engine_->Close(); }
  [[nodiscard]] bool remote() const override { return false; }

 private:
  std::unique_ptr<Client> engine_;
};

Status IngestFile(Client& client, const std::string& file) {
  IngestSummary summary;
  Status status = Ingest(client, {.file = file, .source = "restless"}, {}, &summary);
  EXPECT_TRUE(!status.ok() || summary.lockstep);
  return status;
}

Status IngestFile(Engine& engine, const std::string& file) { return IngestFile(*ClientOf(engine), file); }

TEST(OrderLockstep, AnyPartitionsAndThreadsGiveTheBitsOfAReplay) {
  const TempDir dir;
  const std::string file = dir / "events.pb";
  const Replayed replayed =
      ReplayOf(dir, file, 1, [] { return WithCorrections(RestlessTraffic(RestlessOptions(3, 1800))); });
  ASSERT_GT(replayed.grants.size(), 800u);
  int run = 0;
  for (const auto& [partitions, threads] : {std::pair{3u, 1u}, std::pair{8u, 4u}, std::pair{3u, 4u}}) {
    SCOPED_TRACE(std::to_string(partitions) + " partitions, " + std::to_string(threads) + " threads");
    auto engine = Engine::Open(Settings(dir / ("data" + std::to_string(run++)), partitions, threads),
                               [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    (*engine)->Start();
    const Status ingested = IngestFile(**engine, file);
    ASSERT_TRUE(ingested.ok()) << ingested.message();
    ExpectAsReplayed(**engine, replayed);
    EXPECT_TRUE((*engine)->Stop().ok());
  }
}

// All users are sent in one run at the end, so everything that waited for them is applied at the end of one
// period.
TEST(OrderLockstep, BlockBoundariesChangeNoBit) {
  const TempDir dir;
  const std::string file = dir / "events.pb";
  const Replayed replayed = ReplayOf(dir, file, 1, [] {
    std::vector<testing::Event> events = RestlessTraffic(RestlessOptions(3, 1500));
    const auto users = std::stable_partition(events.begin(), events.end(), [](const testing::Event& event) {
      return wire::PeekKind(event.envelope) != wire::EventKind::kUser;
    });
    EXPECT_GT(events.end() - users, 8);
    return events;
  });
  auto engine = Engine::Open(Settings(dir / "data", 3, 1), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  BlockSplittingClient client(**engine);
  const Status ingested = IngestFile(client, file);
  ASSERT_TRUE(ingested.ok()) << ingested.message();
  ExpectAsReplayed(**engine, replayed);
  EXPECT_TRUE((*engine)->Stop().ok());
}

// Ingests; dies at the failpoint, or reaches the end and compares.
int RunChild(const settings::RunSettings& settings, const std::string& file, const std::string& failpoint,
             const Replayed& replayed) {
  return RunInChild([&] {
    if (!failpoint.empty()) ArmFailpoint(failpoint);
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    (*engine)->Start();
    const Status ingested = IngestFile(**engine, file);
    ASSERT_TRUE(ingested.ok()) << ingested.message();
    ExpectAsReplayed(**engine, replayed);
    const Status stopped = (*engine)->Stop();
    EXPECT_TRUE(stopped.ok()) << stopped.message();
  });
}

TEST(OrderLockstep, ADeathBetweenWatermarksChangesNoBit) {
  const TempDir dir;
  const std::string file = dir / "events.pb";
  const Replayed replayed =
      ReplayOf(dir, file, 8, [] { return WithCorrections(RestlessTraffic(RestlessOptions(5, 900))); });
  for (const auto& [partitions, threads] : {std::pair{3u, 4u}, std::pair{8u, 1u}}) {
    SCOPED_TRACE(std::to_string(partitions) + " partitions, " + std::to_string(threads) + " threads");
    const settings::RunSettings settings =
        Settings(dir / ("data" + std::to_string(partitions)), partitions, threads);
    std::mt19937 random(partitions);
    const std::vector<std::string> points = {"E0", "E1", "E2", "E3", "E4", "E4b", "E5"};
    int kills = 0;
    for (std::size_t round = 0; round < 60; ++round) {
      const std::string& point = points[round % points.size()];
      const int status = RunChild(
          settings, file, point + ":" + std::to_string(1 + random() % (point == "E5" ? 4 : 60)), replayed);
      if (WIFSIGNALED(status)) {
        ASSERT_EQ(WTERMSIG(status), SIGKILL);
        ++kills;
        continue;
      }
      ASSERT_EQ(status, 0);
      break;
    }
    EXPECT_GE(kills, 20);
    // Opens the final state once more.
    ASSERT_EQ(RunChild(settings, file, "", replayed), 0);
  }
}

TEST(OrderLockstep, IsFixedWhenTheDirectoryIsCreated) {
  const TempDir dir;
  settings::RunSettings settings = Settings(dir / "data", 2, 1);
  ASSERT_TRUE(Engine::Open(settings, [](const std::string&) {}).ok());
  settings.order = settings::Order::kArrival;
  auto other = Engine::Open(settings, [](const std::string&) {});
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(other.status().message().find("`order: lockstep`, but the configuration has arrival"),
            std::string::npos)
      << other.status().message();

  settings.data_directory = dir / "arrival";
  {
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok());
    AppendBlock block{.source = "s"};
    block.lines.push_back(
        {.envelope = wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(1), .time = kStart},
                                        .body = wire::HostMember{.host = HostId(1), .user = UserId(1)}})});
    ASSERT_TRUE((*engine)->Append(block).ok());
  }
  settings.order = settings::Order::kLockstep;
  other = Engine::Open(settings, [](const std::string&) {});
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument) << other.status().message();
}

// The app that an event is about; 0: none.
std::uint64_t AppOf(const std::string& envelope) {
  const auto event = wire::ParseEvent(envelope);
  if (!event.ok()) return 0;
  if (const auto* app = std::get_if<wire::AppChange>(&event->body)) return app->app.value;
  if (const auto* version = std::get_if<wire::AppVersionChange>(&event->body)) return version->row.app.value;
  if (const auto* completion = std::get_if<wire::Completion>(&event->body))
    return completion->facts.app.value;
  if (const auto* validation = std::get_if<credit::ValidationFacts>(&event->body))
    return validation->app.value;
  return 0;
}

// A project's file lacks the line of one app. All events of this app are refused. The operator sends the line and
// resubmits the events: versions first, then results, each kind in periods of its own.
TEST(OrderLockstep, ResultsThatWereRefusedCountOnceTheyAreResubmitted) {
  const TempDir dir;
  traffic::GenerateOptions options = testing::TrafficOptions(7, 3000);
  options.policies = {"benchmark", "reported-flops", "assigned"};
  options.bad_lines = 0;
  std::vector<testing::Event> first;
  std::vector<testing::Event> of_the_app;
  std::vector<testing::Event> line;
  std::vector<testing::Event> accepted;  // in the order in which the stages accept them
  for (const testing::Event& event : testing::Traffic(options)) {
    const bool lacks_its_app = AppOf(event.envelope) == 2;
    if (wire::PeekKind(event.envelope) == wire::EventKind::kApp && lacks_its_app) {
      line.push_back(event);
      continue;
    }
    first.push_back(event);
    (lacks_its_app ? of_the_app : accepted).push_back(event);
  }
  ASSERT_EQ(line.size(), 1u);
  ASSERT_GT(of_the_app.size(), 1500u) << "completions and validations of about 750 results";
  accepted.insert(accepted.end(), line.begin(), line.end());
  accepted.insert(accepted.end(), of_the_app.begin(), of_the_app.end());

  auto engine = Engine::Open(Settings(dir / "data", 3, 4), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  const auto client = ClientOf(**engine);
  const auto ingest = [&](const std::vector<testing::Event>& events, const std::string& source) {
    testing::WriteTraffic(events, dir / source);
    IngestSummary summary;
    const Status status = Ingest(*client, {.file = dir / source, .source = source}, {}, &summary);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(summary.events, summary.lines) << "events and ticks";
  };
  const auto refused = [&] {
    auto answer = client->Ask({.path = "/refused/count", .parameters = {}});
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? (*answer)["reasons"] : json();
  };
  ingest(first, "events.pb");
  const json before{{"UNKNOWN_APP", of_the_app.size()}};
  EXPECT_EQ(refused(), before);
  ingest(line, "app.pb");
  EXPECT_EQ(refused(), before);

  std::size_t resubmitted = 0;
  for (std::uint64_t from = 0; from < of_the_app.size();) {
    const auto answer = client->Ask(
        {.path = "/refused/resubmit",
         .parameters = {{"from", std::to_string(from)}, {"to", std::to_string(of_the_app.size())}}});
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    resubmitted += (*answer)["resubmitted"].size();
    from = (*answer)["next"];
  }
  EXPECT_EQ(resubmitted, of_the_app.size());
  EXPECT_EQ(refused(), before) << "none was refused again";
  testing::ExpectLikeTheOracle(**engine, accepted);
  EXPECT_TRUE((*engine)->Stop().ok());
}

// A source with mixed blocks gets an error, and none of its events is ingested.
TEST(OrderLockstep, BlocksOfMixedKindsAreRefused) {
  const TempDir dir;
  auto engine = Engine::Open(Settings(dir / "data", 2, 1), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  const auto event = [](std::uint64_t id, wire::EventBody body) {
    return SourceLine{.envelope =
                          wire::EncodeEvent({.head = {.id = id, .project = ProjectId(1), .time = kStart},
                                             .body = std::move(body)})};
  };
  const SourceLine host = event(1, wire::HostMember{.host = HostId(1), .user = UserId(1)});
  const SourceLine user = event(2, wire::UserMember{.user = UserId(1)});
  const SourceLine tick = event(3, wire::Tick{.time = kStart});
  const auto code = [&](std::vector<SourceLine> lines, bool barrier) {
    AppendBlock block{.source = "s", .lines = std::move(lines), .own_ticks = true, .barrier = barrier};
    return (*engine)->Append(block).status().code();
  };
  EXPECT_EQ(code({host, user}, true), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({host}, false), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({tick, tick}, true), StatusCode::kInvalidArgument);
  EXPECT_EQ((*engine)->Producer("s").lines, 0u);
  EXPECT_EQ(code({host, host}, true), StatusCode::kOk);
}

}  // namespace
}  // namespace cobblestone
