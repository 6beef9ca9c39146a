// Long jobs with partial grants, end to end on the embedded log, with a synced write for every commit. Each host
// has one open job, and each job sends one trickle in each round. The benchmark prints for each of several parts
// of the rounds: trickles/s, CPU per trickle (all threads, with the thread that makes the events), bytes logged
// per trickle, and the size of an open job's row of state. A cost that grows with the number of trickles would
// increase from part to part.
//
//   ./dev bench trickle --jobs 200000 --trickles 72
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/credit/model/constants.h"
#include "common/wire/events/event_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/open_jobs.h"
#include "services/embedded/engine.h"
#include "tests/bench/bench_traffic.h"
#include "tests/support/job_events.h"

namespace cobblestone {

using embedded::Engine;
using intake::AppendBlock;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t jobs = 100000;
  std::uint64_t trickles = 72;
  std::uint64_t parts = 4;
  double hours = 6;  // from one trickle of a job to the next
  std::uint32_t threads = 2;
  std::uint64_t objects = 4;  // GiB of memory for decoded state; the state of 10^6 jobs fits
  std::string directory;
};

constexpr double kStart = 1.7e9;
constexpr std::size_t kBlock = 20000;
const ProjectId kProject{1};

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

class Feeder {
 public:
  explicit Feeder(Engine& engine) : engine_(engine) {}

  void Add(double time, wire::EventBody body) {
    block_.lines.push_back(
        {.envelope = wire::EncodeEvent(
             {.head = {.id = ++line_, .project = kProject, .time = time}, .body = std::move(body)}),
         .original = {},
         .problem = {}});
    if (block_.lines.size() == kBlock) Send(false);
  }
  void Send(bool broadcast) {
    if (block_.lines.empty()) return;
    block_.source = "bench";
    block_.first_line = line_ - block_.lines.size();
    block_.barrier = broadcast;
    if (auto begun = engine_.BeginAppend(block_); !begun.ok()) Fail(begun.status());
    block_ = {};
  }
  void Drain() {
    Send(false);
    engine_.WaitIdle();
    if (!engine_.failure().ok()) Fail(engine_.failure());
  }

 private:
  Engine& engine_;
  AppendBlock block_;
  std::uint64_t line_ = 0;
};

void SendJobs(const Options& options, Feeder& feeder) {
  wire::TrickleRuleChange rule;
  rule.variety = "orig";
  rule.kind = "steps";
  rule.measure = "steps";
  rule.phases = {{.last_step = 1e9, .credit_per_step = 0.1}};
  feeder.Add(kStart, wire::AppChange{.app = AppId(1),
                                     .policy = "assigned",
                                     .delay_bound = 400 * 86400.0,
                                     .trickles = {rule},
                                     .trickle_settlement = "keep"});
  feeder.Add(kStart,
             wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
  feeder.Send(true);
  for (std::uint64_t n = 1; n <= options.jobs; ++n) {
    feeder.Add(kStart, wire::UserMember{.user = UserId(n)});
    feeder.Add(kStart, wire::HostMember{.host = HostId(n), .user = UserId(n), .whetstone = 1e9, .cpus = 1});
    wire::Dispatch dispatch = testing::DispatchOf(n, n, kStart);
    dispatch.fpops_est = 1e18;
    dispatch.fpops_bound = 1e20;
    feeder.Add(kStart, dispatch);
  }
  feeder.Drain();
}

struct Rows {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] double Each() const {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, count));
  }
};

Rows RowsOf(Engine& engine, view::Stage stage, std::uint8_t table) {
  Rows rows;
  view::State& state = engine.live_state();
  for (std::uint32_t k = 0; k < state.partitions(); ++k) {
    const auto of = state.Of(stage, k);
    if (!of.ok()) Fail(of.status());
    const Status read = (*of)->Scan(table, [&](const stream::Key&, std::string_view row) -> Status {
      ++rows.count;
      rows.bytes += sizeof(stream::Key) + row.size();
      return Status::Ok();
    });
    if (!read.ok()) Fail(read);
  }
  return rows;
}

std::uint64_t BytesIn(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) bytes += file.file_size();
  return bytes;
}

// Rows that were not in memory when a record needed them.
std::uint64_t RowsRead(Engine& engine) {
  std::uint64_t read = 0;
  for (const stream::embedded::SlotStatus& slot : engine.runner().status()) read += slot.store_reads;
  return read;
}

void Run(const Options& options) {
  settings::RunSettings settings;
  settings.data_directory = options.directory;
  settings.threads = options.threads;
  settings.memory.objects = options.objects * settings::kGiB;
  {
    auto opened = Engine::Open(settings, [](const std::string&) {});
    if (!opened.ok()) Fail(opened.status());
    Engine& engine = **opened;
    engine.Start();
    Feeder feeder(engine);
    SendJobs(options, feeder);
    std::uint64_t round = 0;
    for (std::uint64_t part = 1; part <= options.parts; ++part) {
      const std::uint64_t last = options.trickles * part / options.parts;
      const auto before = engine.log().counters();
      const std::uint64_t read = RowsRead(engine);
      const double cpu = CpuSeconds();
      const auto start = Clock::now();
      const std::uint64_t first = round + 1;
      while (round < last) {
        ++round;
        const double time = kStart + static_cast<double>(round) * options.hours * 3600;
        for (std::uint64_t n = 1; n <= options.jobs; ++n) {
          feeder.Add(time, wire::Trickle{.result = ResultId(n),
                                         .host = HostId(n),
                                         .variety = "orig",
                                         .sequence = round,
                                         .steps = static_cast<double>(round) * 100});
        }
      }
      feeder.Drain();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double used = CpuSeconds() - cpu;
      const auto after = engine.log().counters();
      const double n = static_cast<double>(options.jobs * (last - first + 1));
      const Rows jobs = RowsOf(engine, view::Stage::kClaims, claims::kJobsTable.id);
      std::printf(
          "%8llu open jobs, trickles %4llu to %4llu of each: %8.0f trickles/s, %5.2f us CPU and %4.0f bytes logged "
          "(%4.0f before compression) per trickle, %.2f rows read; %llu rows of %.0f bytes\n",
          static_cast<unsigned long long>(options.jobs), static_cast<unsigned long long>(first),
          static_cast<unsigned long long>(last), n / seconds, used / n * 1e6,
          static_cast<double>(after.stored_bytes - before.stored_bytes) / n,
          static_cast<double>(after.raw_bytes - before.raw_bytes) / n,
          static_cast<double>(RowsRead(engine) - read) / n, static_cast<unsigned long long>(jobs.count),
          jobs.Each());
      std::fflush(stdout);
    }
    const Rows older = RowsOf(engine, view::Stage::kAccounts, accounts::kUserDaysTable.id);
    std::printf(
        "%8llu open jobs: rows of accounts, with a sum for each day of the newest month: host %.0f, user %.0f bytes; older "
        "days: %.1f rows of %.0f bytes for each user\n",
        static_cast<unsigned long long>(options.jobs),
        RowsOf(engine, view::Stage::kAccounts, accounts::kHostsTable.id).Each(),
        RowsOf(engine, view::Stage::kAccounts, accounts::kUsersTable.id).Each(),
        static_cast<double>(older.count) / static_cast<double>(options.jobs), older.Each());
    const std::uint64_t grants = engine.Counts().grants;
    if (const Status stopped = engine.Stop(); !stopped.ok()) Fail(stopped);
    if (grants != options.jobs * options.trickles)
      Fail(Status::Corrupted("the ledger has " + std::to_string(grants) +
                             " grants, not one for each trickle"));
  }
  std::printf("%8llu open jobs: all state on disk, with rows not yet compacted, %.0f bytes per job\n",
              static_cast<unsigned long long>(options.jobs),
              static_cast<double>(BytesIn(options.directory + "/state")) / static_cast<double>(options.jobs));
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("From trickles of long jobs to posted partial grants, on the embedded log.");
  app.add_option("--jobs", options.jobs, "Open jobs, one on each host")->capture_default_str();
  app.add_option("--trickles", options.trickles, "Trickles of each job")->capture_default_str();
  app.add_option("--hours", options.hours, "Hours from one trickle of a job to the next")
      ->capture_default_str();
  app.add_option("--parts", options.parts, "Parts of the rounds, each with its own line of output")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads that share the slots")->capture_default_str();
  app.add_option("--objects", options.objects, "GiB of memory for decoded state (memory.objects)")
      ->capture_default_str();
  app.add_option("--directory", options.directory,
                 "Data directory; deleted first and at the end (default: a temporary one)");
  CLI11_PARSE(app, argc, argv);
  if (options.directory.empty())
    options.directory =
        std::filesystem::temp_directory_path() / ("cobblestone-bench-" + std::to_string(::getpid()));
  std::filesystem::remove_all(options.directory);
  cobblestone::Run(options);
  std::filesystem::remove_all(options.directory);
  return 0;
}
