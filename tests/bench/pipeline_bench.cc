// End to end on the embedded log, from events to posted totals, with a synced write for every commit. Prints, for
// each number of hosts: results/s, CPU per result (all threads, with the thread that appends events), synced
// writes, bytes written per result, peak memory; then the latency from completion to posting at half of that rate.
// The program does not use Google Benchmark, because a run takes seconds to minutes.
//
//   ./dev bench pipeline --help
//
// Workload: two replicas of a workunit on two hosts, five in a hundred validations before their completion
// (services/traffic/generate.h); one completion and one validation for each result, from events prepared in memory.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/stream/runtime/journal.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/embedded/engine.h"
#include "services/pipeline/pipeline.h"
#include "services/traffic/generate.h"
#include "tests/bench/bench_traffic.h"

namespace cobblestone {

using embedded::Engine;
using intake::AppendBlock;
using pipeline::MakeSlot;
using pipeline::PipelineSlot;
using traffic::GenerateOptions;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::uint64_t> hosts = {10000, 100000, 1000000};
  std::uint64_t results = 2000000;
  std::uint32_t threads = 2;
  std::string policy = "creditnew";
  std::string directory;
  bool latency = true;
  double rate = 0;  // of the latency run; 0: half of the measured throughput
  double flush_interval = 5;
  std::uint64_t wait = 0;  // validations that the generator makes before a delayed validation is sent
  std::uint64_t retain =
      0;  // MiB of log beyond which inputs behind the checkpoints are trimmed; 0: the default
  double checkpoint = 60;  // s
  double commit = 0;       // ms; 0: the default
};

std::uint64_t FromProc(const char* file, const char* field) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(field, 0) == 0) return std::strtoull(line.c_str() + std::strlen(field), nullptr, 10);
  return 0;
}

// CPU time by thread since the start of the process.
void PrintThreads() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "stat");
    std::string line;
    std::getline(in, line);
    const auto open = line.find('('), close = line.rfind(')');
    unsigned long utime = 0, stime = 0;
    std::sscanf(line.c_str() + close + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &utime,
                &stime);
    if (utime + stime > 10)
      std::fprintf(stderr, "  %-16s %.2f s user %.2f s system\n",
                   line.substr(open + 1, close - open - 1).c_str(), static_cast<double>(utime) / 100,
                   static_cast<double>(stime) / 100);
  }
}

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

settings::RunSettings Settings(const Options& options, const std::string& directory) {
  settings::RunSettings settings;
  settings.data_directory = directory;
  settings.threads = options.threads;
  settings.memory.objects = 4 * settings::kGiB;
  settings.checkpoint.interval = std::chrono::milliseconds(static_cast<long>(options.checkpoint * 1000));
  if (options.commit > 0)
    settings.commit.interval = std::chrono::milliseconds(static_cast<long>(options.commit));
  if (options.retain > 0) {
    settings.retention.inputs_age = std::chrono::seconds(0);
    settings.retention.inputs_bytes = options.retain << 20;
  }
  settings.state.flush_interval = std::chrono::milliseconds(static_cast<long>(options.flush_interval * 1000));
  return settings;
}

std::uint64_t Throttled(Engine& engine) {
  std::uint64_t throttled = 0;
  for (const auto& slot : engine.runner().status()) throttled += slot.throttled;
  return throttled;
}

void Begin(Engine& engine, const AppendBlock& block) {
  auto begun = engine.BeginAppend(block);
  if (begun.ok()) return;
  std::fprintf(stderr, "append: %s\n", begun.status().message().c_str());
  std::exit(1);
}

// Appends blocks as fast as the engine accepts them, several at a time.
double Feed(Engine& engine, std::vector<AppendBlock> blocks) {
  const auto start = Clock::now();
  for (AppendBlock& block : blocks) {
    Begin(engine, block);
    block = {};
  }
  engine.WaitIdle();
  return Seconds(Clock::now() - start);
}

double Throughput(const Options& options, std::uint64_t hosts) {
  const GenerateOptions generate = PlainTraffic(options.results, hosts, options.policy);
  std::fprintf(stderr, "preparing %llu results of %llu hosts ...\n",
               static_cast<unsigned long long>(options.results), static_cast<unsigned long long>(hosts));
  Prepared prepared = Prepare(generate, 20000, options.wait);
  const std::string directory = options.directory + "/throughput";
  std::filesystem::remove_all(directory);
  double rate = 0;
  {
    auto engine = Engine::Open(Settings(options, directory), [](const std::string&) {});
    if (!engine.ok()) {
      std::fprintf(stderr, "%s\n", engine.status().message().c_str());
      std::exit(1);
    }
    (*engine)->Start();
    Feed(**engine, std::move(prepared.members));
    ::sync();  // keeps the write-back of earlier data out of the measurement
    const auto before = (*engine)->log().counters();
    const std::uint64_t written = FromProc("/proc/self/io", "write_bytes:");
    const double cpu = CpuSeconds();
    const double seconds = Feed(**engine, std::move(prepared.blocks));
    const double cpu_used = CpuSeconds() - cpu;
    const auto after = (*engine)->log().counters();
    const double n = static_cast<double>(prepared.results);
    rate = n / seconds;
    std::printf(
        "%8llu hosts: %9.0f results/s, %5.2f us CPU per result, %llu synced writes (%.2f ms each), "
        "%4.0f bytes logged (%4.0f before compression) and %4.0f written per result, peak memory %llu MiB, "
        "log %llu MiB on disk, %llu of %llu granted\n",
        static_cast<unsigned long long>(hosts), rate, cpu_used / n * 1e6,
        static_cast<unsigned long long>(after.syncs - before.syncs),
        static_cast<double>(after.sync_nanos - before.sync_nanos) / 1e6 /
            static_cast<double>(std::max<std::uint64_t>(1, after.syncs - before.syncs)),
        static_cast<double>(after.stored_bytes - before.stored_bytes) / n,
        static_cast<double>(after.raw_bytes - before.raw_bytes) / n,
        static_cast<double>(FromProc("/proc/self/io", "write_bytes:") - written) / n,
        static_cast<unsigned long long>(FromProc("/proc/self/status", "VmHWM:") / 1024),
        static_cast<unsigned long long>((*engine)->log().disk_bytes() >> 20),
        static_cast<unsigned long long>((*engine)->Counts().grants),
        static_cast<unsigned long long>(prepared.results));
    std::fflush(stdout);
    (void)(*engine)->Stop();
  }
  std::filesystem::remove_all(directory);
  return rate;
}

// Follows the durable journal of each slot, which has the grants that ACCOUNTS consumed and so posted.
class PostedGrants {
 public:
  explicit PostedGrants(Engine& engine) : engine_(engine), next_(engine.pipeline().partitions) {
    const PipelineSlot slot = MakeSlot(0, engine.pipeline());
    for (std::size_t i = 0; i < slot.slot->inputs().size(); ++i)
      if (slot.slot->inputs()[i].where.topic == wire::kGrants) input_ = i;
  }

  // Calls visit(result) for each grant posted since the last call.
  template <class Visit>
  void Poll(Visit visit) {
    for (std::uint32_t k = 0; k < next_.size(); ++k) {
      Next& next = next_[k];
      const std::uint64_t posted = next.grants;
      next.journal = Records({wire::kJournal, k}, next.journal, engine_.log().DurableEnd({wire::kJournal, k}),
                             [&](std::string_view bytes) {
                               const auto entry = stream::DecodeJournalEntry(bytes);
                               for (const stream::JournalChunk& chunk : entry->chunks)
                                 if (chunk.input == input_) next.grants = chunk.end;
                             });
      Records({wire::kGrants, k}, posted, next.grants, [&](std::string_view bytes) {
        wire::GrantHead head;
        if (wire::DecodeGrantHead(bytes, &head) && head.kind == wire::GrantKind::kFinal)
          visit(head.result.value);
      });
    }
  }

 private:
  struct Next {
    std::uint64_t journal = 0;
    std::uint64_t grants = 0;
  };
  // Returns the end offset of the records that it has read.
  template <class Visit>
  std::uint64_t Records(stream::TopicPartition where, std::uint64_t from, std::uint64_t end, Visit visit) {
    while (from < end) {
      const auto batch = engine_.log().Read(where, from);
      if (!batch.ok() || *batch == nullptr) return from;
      stream::RecordCursor cursor((*batch)->payload);
      std::string_view record;
      for (std::uint64_t offset = (*batch)->first; cursor.Next(&record) && offset < end; ++offset) {
        if (offset < from) continue;
        visit(record);
        from = offset + 1;
      }
    }
    return from;
  }

  Engine& engine_;
  std::vector<Next> next_;
  std::size_t input_ = 0;
};

// The latency from completion to posting. Small blocks are appended at a fixed rate, regardless of the progress of
// earlier blocks. A grant is posted when the commit that applied it to its accounts is durable. The latency of a
// result begins when the block that completed its workunit was due.
void Latency(const Options& options, std::uint64_t hosts, double rate) {
  const GenerateOptions generate = PlainTraffic(
      std::min<std::uint64_t>(options.results, static_cast<std::uint64_t>(rate * 20)), hosts, options.policy);
  const double interval = 0.002;
  Prepared prepared =
      Prepare(generate, static_cast<std::size_t>(std::max(2.0, rate * 2 * interval)), options.wait);
  const auto deciding = DecidingBlocks(prepared.blocks);
  const auto expected = static_cast<std::size_t>(
      std::count_if(deciding.begin(), deciding.end(), [](std::uint32_t block) { return block != kNoBlock; }));
  const std::string directory = options.directory + "/latency";
  std::filesystem::remove_all(directory);
  {
    auto engine = Engine::Open(Settings(options, directory), [](const std::string&) {});
    if (!engine.ok()) std::exit(1);
    (*engine)->Start();
    Feed(**engine, std::move(prepared.members));
    ::sync();  // keeps the write-back of earlier data out of the measurement
    const auto start = Clock::now();
    const auto due = [&](std::uint32_t block) {
      return start +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval * block));
    };
    const auto before = (*engine)->log().counters();
    std::vector<double> milliseconds;
    milliseconds.reserve(expected);
    std::thread watcher([&] {
      PostedGrants posted(**engine);
      while (milliseconds.size() < expected) {
        posted.Poll([&](std::uint64_t result) {
          if (result < deciding.size() && deciding[result] != kNoBlock)
            milliseconds.push_back(Seconds(Clock::now() - due(deciding[result])) * 1e3);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    const double cpu = CpuSeconds();
    std::uint32_t k = 0;
    for (const AppendBlock& block : prepared.blocks) {
      std::this_thread::sleep_until(due(k++));
      Begin(**engine, block);
    }
    watcher.join();
    const double took = Seconds(Clock::now() - start);
    const double cpu_used = CpuSeconds() - cpu;
    const auto after = (*engine)->log().counters();
    std::sort(milliseconds.begin(), milliseconds.end());
    std::printf(
        "%8llu hosts at %.0f results/s: completion -> posted p50 %.1f ms, p99 %.1f ms, max %.1f ms (%zu results), "
        "%.2f us CPU per result, %.2f cores, %llu synced writes (%.2f ms each, longest %.0f ms), "
        "%llu times a slot waited for its state write\n",
        static_cast<unsigned long long>(hosts), rate, milliseconds[milliseconds.size() / 2],
        milliseconds[milliseconds.size() * 99 / 100], milliseconds.back(), milliseconds.size(),
        cpu_used / static_cast<double>(milliseconds.size()) * 1e6, cpu_used / took,
        static_cast<unsigned long long>(after.syncs - before.syncs),
        static_cast<double>(after.sync_nanos - before.sync_nanos) / 1e6 /
            static_cast<double>(std::max<std::uint64_t>(1, after.syncs - before.syncs)),
        static_cast<double>(after.longest_sync_nanos) / 1e6,
        static_cast<unsigned long long>(Throttled(**engine)));
    std::fflush(stdout);
    PrintThreads();
    (void)(*engine)->Stop();
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("Events in, totals posted, on the embedded log: throughput, then latency at half of it.");
  app.add_option("--hosts", options.hosts, "Numbers of hosts; one run for each")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--results", options.results, "Results of a run")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads that share the slots")->capture_default_str();
  app.add_option("--policy", options.policy, "Policy of all apps")->capture_default_str();
  app.add_option("--directory", options.directory,
                 "Data directory, deleted at the end (default: a temporary one)");
  app.add_option("--latency", options.latency, "Whether to measure latency")->capture_default_str();
  app.add_option("--rate", options.rate, "Only the latency run, at this number of results/s");
  app.add_option("--flush", options.flush_interval, "Seconds between state writes")->capture_default_str();
  app.add_option("--commit", options.commit, "The settings' commit.interval, ms; 0: the default");
  app.add_option("--wait", options.wait, "Number of validations by which each validation is delayed");
  app.add_option("--retain", options.retain,
                 "MiB of log beyond which inputs are trimmed behind the checkpoints");
  app.add_option("--checkpoint", options.checkpoint, "Seconds between checkpoints")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.directory.empty())
    options.directory =
        std::filesystem::temp_directory_path() / ("cobblestone-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(options.directory);
  for (const std::uint64_t hosts : options.hosts) {
    const double rate = options.rate > 0 ? options.rate : cobblestone::Throughput(options, hosts) / 2;
    if (options.latency) cobblestone::Latency(options, hosts, rate);
  }
  std::filesystem::remove_all(options.directory);
  return 0;
}
