// The running pipeline is killed (SIGKILL) at each failpoint, repeatedly, while events are ingested, and
// opened again. Afterwards every grant and every total must equal an independent batch computation, to the
// micro-credit, with nothing twice and nothing missing. Every re-executed commit must have the same
// fingerprint (else an open fails with "diverged").

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/failpoint.h"
#include "common/stream/record.h"
#include "common/wire/events/event_codec.h"
#include "services/corrections/correction_plan.h"
#include "services/embedded/engine.h"
#include "tests/robustness/traffic.h"
#include "tests/support/in_child.h"
#include "tests/support/job_events.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using corrections::CorrectionRequest;
using corrections::TargetKind;
using embedded::Engine;
using intake::AppendBlock;
using traffic::GenerateOptions;

namespace {

using testing::BusySettings;
using testing::Event;
using testing::ExpectAccountsLikeTheOracle;
using testing::ExpectLikeTheOracle;
using testing::Ingest;
using testing::RunInChild;
using testing::Traffic;
using testing::TrickleTrafficOf;

constexpr int kFailed = 10;
constexpr std::uint64_t kRunningJobs = 60;

// Runs in a child process.
[[noreturn]] void Fail(const std::string& directory, const Status& status) {
  std::ofstream(directory + ".failure") << status.message();
  ::_exit(kFailed);
}

// Opens the directory and ingests; dies at the failpoint or reaches the end.
int RunChild(const std::string& directory, const std::vector<Event>& events, const std::string& failpoint) {
  return RunInChild([&] {
    if (!failpoint.empty()) ArmFailpoint(failpoint);
    auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
    if (!engine.ok()) Fail(directory, engine.status());
    (*engine)->Start();
    if (Status s = Ingest(**engine, events); !s.ok()) Fail(directory, s);
    if (Status s = (*engine)->Stop(); !s.ok()) Fail(directory, s);
  });
}

std::string ReadFailure(const std::string& directory) {
  std::ifstream in(directory + ".failure");
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Kill, NothingIsLostOrDoubledWhereverTheProcessDies) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  const std::vector<Event> events = Traffic(7, 30000);
  std::mt19937 random(20261121);
  std::map<std::string, int> kills;
  bool done = false;
  const std::vector<std::string> points = {"E0", "E1", "E2", "E3", "E4", "E4b", "E5"};
  for (int round = 0; round < 70 && !done; ++round) {
    const std::string& point = points[static_cast<std::size_t>(round) % points.size()];
    // Low enough that the traffic lasts for all rounds even on a machine so slow that each block is one
    // commit.
    const int most = point == "E5" ? 3 : 8;
    const int status = RunChild(directory, events, point + ":" + std::to_string(1 + random() % most));
    if (WIFSIGNALED(status)) {
      ASSERT_EQ(WTERMSIG(status), SIGKILL);
      ++kills[point];
    } else {
      ASSERT_EQ(WEXITSTATUS(status), 0) << ReadFailure(directory);
      done = true;
    }
  }
  if (!done) {
    ASSERT_EQ(RunChild(directory, events, ""), 0) << ReadFailure(directory);
  }
  for (const std::string& point : points) {
    EXPECT_GE(kills[point], 3) << "too few kills at " << point;
    std::printf("killed %d times at %s\n", kills[point], point.c_str());
  }

  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectLikeTheOracle(**engine, events);
}

// Events after a broadcast are judged by it, even if the process died after the broadcast was durable and
// before all stages had processed it.
TEST(Kill, ADurableBroadcastAppliesToLaterEventsAfterADeath) {
  const std::vector<Event> events = Traffic(12, 1000);
  const auto first = std::find_if(events.begin(), events.end(), [](const Event& e) { return !e.broadcast; });
  ASSERT_NE(first, events.begin());
  AppendBlock broadcasts{.source = "traffic", .barrier = true};
  for (auto event = events.begin(); event != first; ++event)
    broadcasts.lines.push_back({.envelope = event->envelope});
  // Sometimes the stages are so quick that their outputs for the broadcast are in the same write; then the
  // test tries again.
  for (int attempt = 0; attempt < 20; ++attempt) {
    cobblestone::testing::TempDir temp;
    const std::string directory = temp / "data";
    int status = RunInChild([&] {
      auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      ArmFailpoint("E4b:1");  // the first write of the log is durable, but not acknowledged
      (*engine)->Start();
      (void)(*engine)->Append(broadcasts);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);

    constexpr int kHadDrained = 42;
    status = RunInChild([&] {
      auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      if ((*engine)->idle()) ::_exit(kHadDrained);
      AppendBlock next{.source = "traffic",
                       .first_line = broadcasts.lines.size(),
                       .lines = {{.envelope = first->envelope}}};
      ASSERT_EQ((*engine)->Producer("traffic").lines, next.first_line) << "the broadcast was not durable";
      const auto too_early = (*engine)->Append(next);
      EXPECT_EQ(too_early.status().code(), StatusCode::kRetry) << too_early.status().message();
      (*engine)->Start();
      ASSERT_TRUE(Ingest(**engine, events).ok());
      ExpectLikeTheOracle(**engine, events);
    });
    if (WIFEXITED(status) && WEXITSTATUS(status) == kHadDrained) continue;
    EXPECT_EQ(status, 0);
    return;
  }
  FAIL() << "the stages had processed the broadcast in every attempt";
}

// Rows expire and hosts move while the process is killed repeatedly. Re-execution expires the same rows and
// gives the same accounts (else an open fails with "diverged").
TEST(Kill, ExpiryAndHostMovesAreReExecutedAfterADeath) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  GenerateOptions options = testing::TrafficOptions(11, 12000);
  options.lost = 0;
  // Long enough for the slowest result, short enough that decided workunits expire during the traffic.
  options.delay_bound = 2 * 86400.0;
  options.result_window = 28 * 86400.0;
  options.span = 100 * 86400.0;
  options.owner_changes = 0.5;
  const std::vector<Event> events = Traffic(options);
  std::mt19937 random(20261122);
  const std::vector<std::string> points = {"E1", "E3", "E4", "E4b", "E5"};
  int kills = 0;
  for (int round = 0; round < 25; ++round) {
    const std::string& point = points[static_cast<std::size_t>(round) % points.size()];
    const int most = point == "E5" ? 6 : 40;
    const int status = RunChild(directory, events, point + ":" + std::to_string(1 + random() % most));
    if (!WIFSIGNALED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << ReadFailure(directory);
      break;
    }
    ++kills;
  }
  EXPECT_GE(kills, 5);
  ASSERT_EQ(RunChild(directory, events, ""), 0) << ReadFailure(directory);
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectLikeTheOracle(**engine, events, true);
  const auto audit = (*engine)->Audit({});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_GT((*audit)["host_moves"], 30);
}

// Jobs that are paid while they run, by rules of every kind, decided and settled, with trickles after the
// decision too.
TEST(Kill, TricklePaymentsAreSettledOnceWhereverTheProcessDies) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  const std::vector<Event> events = TrickleTrafficOf(13, 6000);
  std::mt19937 random(20261124);
  std::map<std::string, int> kills;
  const std::vector<std::string> points = {"E0", "E1", "E2", "E3", "E4", "E4b", "E5"};
  for (std::size_t round = 0; round < 4 * points.size(); ++round) {
    const std::string& point = points[round % points.size()];
    const int most = point == "E5" ? 3 : 8;
    const int status = RunChild(directory, events, point + ":" + std::to_string(1 + random() % most));
    if (!WIFSIGNALED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << ReadFailure(directory);
      break;
    }
    ++kills[point];
  }
  for (const std::string& point : points) EXPECT_GE(kills[point], 2) << "too few kills at " << point;
  ASSERT_EQ(RunChild(directory, events, ""), 0) << ReadFailure(directory);
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectAccountsLikeTheOracle(**engine, events);
}

// ---- Corrections --------------------------------------------------------------------------------------------------

// Version 2 of each app's policy pays twice as much for trickles.
std::vector<Event> NextVersions(const std::vector<Event>& events) {
  std::vector<Event> versions;
  for (const Event& one : events) {
    if (wire::PeekKind(one.envelope) != wire::EventKind::kApp) continue;
    auto event = wire::ParseEvent(one.envelope);
    auto& app = std::get<wire::AppChange>(event->body);
    event->head.id += 1'000'000'000'000;
    app.policy_version = 2;
    if (!app.constants) app.constants.emplace();
    app.constants->cobblestones_per_gflops_day = 2 * app.constants->cobblestones_per_gflops_day.value_or(200);
    for (wire::TrickleRuleChange& rule : app.trickles) {
      rule.multiplier = 2 * rule.multiplier.value_or(1);
      rule.credit_per_day *= 2;
      rule.max_credit *= 2;
    }
    versions.push_back({wire::EncodeEvent(*event), true});
  }
  return versions;
}

// Plans an operator's corrections of some hosts from the current ledger, each event twice. The payments of
// every third host are reversed; the others are repriced by `version`.
Result<std::vector<Event>> Decide(Engine& engine, std::uint32_t version) {
  std::vector<Event> events;
  for (std::int64_t host = 1; host <= 60; ++host) {
    const CorrectionRequest request{.target = TargetKind::kHost,
                                    .id = host,
                                    .policy_version = host % 3 == 0 ? 0 : version,
                                    .reason = "an operator's decision"};
    const auto plan = engine.Corrections(request, {});
    if (plan.status().code() == StatusCode::kNotFound) continue;
    if (!plan.ok()) return plan.status();
    for (int twice = 0; twice < 2; ++twice)
      for (const auto& row : plan->at("corrections")) {
        const auto& hex = row.at("event").get_ref<const std::string&>();
        std::string bytes;
        for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
          bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
        events.push_back({std::move(bytes), false});
      }
  }
  return events;
}

std::string DecisionsFile(const std::string& directory, std::size_t part) {
  return directory + ".decided-" + std::to_string(part);
}

// Decisions are stored before they are sent, so that the oracle receives the same ones whenever the process
// dies.
Result<std::vector<Event>> Decisions(Engine* engine, const std::string& directory, std::size_t part) {
  const std::string file = DecisionsFile(directory, part);
  if (engine != nullptr && !std::filesystem::exists(file)) {
    const auto decided = Decide(*engine, part % 2 == 0 ? 2 : 1);
    if (!decided.ok()) return decided.status();
    testing::WriteTraffic(*decided, file + ".new");
    std::filesystem::rename(file + ".new", file);
  }
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<Event> events;
  stream::RecordCursor reader(bytes);
  for (std::string_view record; reader.Next(&record);) events.push_back({std::string(record), false});
  if (reader.malformed()) return Status::Corrupted(file);
  return events;
}

// Ingests each part and, after it, the corrections that are then decided. Each step waits until everything
// before it is processed.
int RunCorrectedChild(const std::string& directory, const std::vector<std::vector<Event>>& parts,
                      const std::string& failpoint) {
  return RunInChild([&] {
    if (!failpoint.empty()) ArmFailpoint(failpoint);
    auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
    if (!engine.ok()) Fail(directory, engine.status());
    (*engine)->Start();
    std::vector<Event> all;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      all.insert(all.end(), parts[part].begin(), parts[part].end());
      (*engine)->WaitIdle();
      if (Status s = Ingest(**engine, all); !s.ok()) Fail(directory, s);
      const auto decided = Decisions(engine->get(), directory, part);
      if (!decided.ok()) Fail(directory, decided.status());
      all.insert(all.end(), decided->begin(), decided->end());
      if (Status s = Ingest(**engine, all); !s.ok()) Fail(directory, s);
    }
    if (Status s = (*engine)->Stop(); !s.ok()) Fail(directory, s);
  });
}

// Payments of running jobs are reversed or repriced while the process is killed repeatedly.
TEST(Kill, TricklePaymentsAreReversedOnceWhereverTheProcessDies) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  const std::vector<Event> events = TrickleTrafficOf(15, 4000);
  std::vector<std::vector<Event>> parts(4);
  for (std::size_t i = 0; i < events.size(); ++i)
    parts[i * parts.size() / events.size()].push_back(events[i]);
  const std::vector<Event> versions = NextVersions(events);
  parts[0].insert(parts[0].end(), versions.begin(), versions.end());
  std::mt19937 random(20261125);
  std::map<std::string, int> kills;
  const std::vector<std::string> points = {"E0", "E1", "E2", "E3", "E4", "E4b", "E5"};
  for (std::size_t round = 0; round < 8 * points.size(); ++round) {
    const std::string& point = points[round % points.size()];
    const int most = point == "E5" ? 3 : 8;
    const int status = RunCorrectedChild(directory, parts, point + ":" + std::to_string(1 + random() % most));
    if (!WIFSIGNALED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << ReadFailure(directory);
      break;
    }
    ++kills[point];
  }
  for (const std::string& point : points) EXPECT_GE(kills[point], 2) << "too few kills at " << point;
  ASSERT_EQ(RunCorrectedChild(directory, parts, ""), 0) << ReadFailure(directory);
  std::vector<Event> all;
  std::map<wire::EventKind, int> decisions;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    all.insert(all.end(), parts[part].begin(), parts[part].end());
    const auto decided = Decisions(nullptr, directory, part);
    ASSERT_TRUE(decided.ok()) << decided.status().message();
    for (const Event& one : *decided)
      ++decisions[wire::PeekKind(one.envelope).value_or(wire::EventKind::kNone)];
    all.insert(all.end(), decided->begin(), decided->end());
  }
  EXPECT_GT(decisions[wire::EventKind::kJobReversal], 20);
  EXPECT_GT(decisions[wire::EventKind::kJobRepricing], 40);
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectAccountsLikeTheOracle(**engine, all);
}

// Each of 60 jobs reports its progress, in random order and each message twice; its dispatch arrives
// somewhere between them.
std::vector<Event> RunningJobs(std::mt19937& random) {
  std::vector<Event> events;
  std::uint64_t id = 0;
  const double start = 1.7e9;
  const auto add = [&](double time, wire::EventBody body) {
    const bool broadcast = std::holds_alternative<wire::AppChange>(body);
    events.push_back({wire::EncodeEvent({.head = {.id = ++id, .project = ProjectId(1), .time = time},
                                         .body = std::move(body)}),
                      broadcast});
  };
  wire::TrickleRuleChange rule{.variety = "model", .kind = "steps", .measure = "steps"};
  rule.phases = {{.last_step = 1000, .credit_per_step = 0.1}};
  add(start, wire::AppChange{
                 .app = AppId(1), .policy = "assigned", .delay_bound = 365 * 86400.0, .trickles = {rule}});
  for (std::uint64_t user = 1; user <= kRunningJobs; ++user)
    add(start, wire::UserMember{.user = UserId(user)});
  for (std::uint64_t host = 1; host <= kRunningJobs; ++host)
    add(start, wire::HostMember{.host = HostId(host), .user = UserId(host), .cpus = 1});
  const auto members = static_cast<std::ptrdiff_t>(events.size());
  for (std::uint64_t host = 1; host <= kRunningJobs; ++host) {
    add(start, testing::DispatchOf(host, host, start));
    for (int message = 1; message <= 40; ++message) {
      const double steps = message * 20.0 + static_cast<double>(host);
      add(start + message * 86400.0,
          wire::Trickle{.result = ResultId(host), .host = HostId(host), .variety = "model", .steps = steps});
      events.push_back(events.back());
    }
  }
  std::shuffle(events.begin() + members, events.end(), random);
  return events;
}

// Elsewhere a trickle takes five separate writes, and a crash between them pays it twice or loses it.
TEST(Kill, ATrickleIsPaidOnceWhereverTheProcessDies) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  std::mt19937 random(20261123);
  const std::vector<Event> events = RunningJobs(random);
  const std::vector<std::string> points = {"E0", "E1", "E2", "E3", "E4", "E4b", "E5"};
  int kills = 0;
  for (int round = 0; round < 40; ++round) {
    const std::string& point = points[static_cast<std::size_t>(round) % points.size()];
    const int status = RunChild(directory, events, point + ":" + std::to_string(1 + random() % 3));
    if (!WIFSIGNALED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << ReadFailure(directory);
      break;
    }
    ++kills;
  }
  EXPECT_GE(kills, 7);
  ASSERT_EQ(RunChild(directory, events, ""), 0) << ReadFailure(directory);
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  for (std::uint64_t host = 1; host <= kRunningJobs; ++host) {
    const auto account = (*engine)->questions().Account(ProjectId(1), wire::AccountKind::kHost, host);
    ASSERT_TRUE(account.ok()) << account.status().message();
    // The high-water mark is 800 steps plus the host's number, at a tenth of a credit per step.
    const std::string worth = std::to_string(80 + host / 10) + "." + std::to_string(host % 10) + "00000";
    EXPECT_EQ((*account)["total"], worth) << "host " << host;
    EXPECT_EQ((*account)["provisional"], worth) << "host " << host;
  }
  const auto audit = (*engine)->Audit({});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
}

TEST(Kill, ADamagedOrDeletedStateIsRebuiltFromCheckpointOrLog) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  const std::vector<Event> events = Traffic(8, 8000);
  const std::vector<Event> half(events.begin(),
                                events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2));
  ASSERT_EQ(RunChild(directory, half, ""), 0) << ReadFailure(directory);  // every slot has a state now
  ASSERT_EQ(RunChild(directory, events, "E4b:5"), SIGKILL);
  // The state of one slot is deleted, another slot's is damaged in the middle of its largest file, and a
  // third slot has no checkpoints either.
  std::filesystem::remove_all(directory + "/state/slot-0");
  std::filesystem::remove_all(directory + "/state/slot-2");
  std::filesystem::remove_all(directory + "/checkpoints/slot-2");
  std::filesystem::path largest;
  for (const auto& file : std::filesystem::directory_iterator(directory + "/state/slot-1"))
    if (file.path().extension() == ".sst" &&
        (largest.empty() || file.file_size() > std::filesystem::file_size(largest)))
      largest = file.path();
  ASSERT_FALSE(largest.empty());
  {
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(largest) / 2));
    file.write("damaged!damaged!damaged!", 24);
  }
  // Damage in a part that an open does not read shows later, at the latest when a checkpoint is verified. The
  // program then stops and reports that the next start repairs the state.
  int status = RunChild(directory, events, "");
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    EXPECT_NE(ReadFailure(directory).find("tart again"), std::string::npos) << ReadFailure(directory);
    status = RunChild(directory, events, "");
  }
  ASSERT_EQ(status, 0) << ReadFailure(directory);
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectLikeTheOracle(**engine, events);
}

TEST(Kill, AStateNewerThanTheLogStopsTheOpen) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  const std::vector<Event> events = Traffic(9, 2000);
  const std::vector<Event> some(events.begin(),
                                events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2));
  ASSERT_EQ(RunChild(directory, some, ""), 0) << ReadFailure(directory);
  std::filesystem::copy(directory + "/log", directory + "/log.old", std::filesystem::copy_options::recursive);
  ASSERT_EQ(RunChild(directory, events, ""), 0) << ReadFailure(directory);
  // An older log from a backup under a current state.
  std::filesystem::remove_all(directory + "/log");
  std::filesystem::rename(directory + "/log.old", directory + "/log");
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("committed data is missing"), std::string::npos)
      << engine.status().message();
}

TEST(Kill, ASecondProcessOnTheSameDirectoryIsRefused) {
  cobblestone::testing::TempDir temp;
  const std::string directory = temp / "data";
  auto engine = Engine::Open(BusySettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok());
  // The forked child lacks the threads of this process, but reaches nothing that would wait for them.
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = Engine::Open(BusySettings(directory), [](const std::string&) {});
    if (!second.ok()) Fail(directory, second.status());
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kFailed);
  EXPECT_NE(ReadFailure(directory).find(std::to_string(getpid())), std::string::npos)
      << ReadFailure(directory);
}

}  // namespace
}  // namespace cobblestone
