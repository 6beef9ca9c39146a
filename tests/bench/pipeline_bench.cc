// End to end on the embedded log: events in, totals posted, with a synced write for every commit. Prints, for each
// number of hosts: results/s, CPU per result (all threads, the feeding one too), synced writes, bytes written per
// result, peak memory; then completion -> posted latency at half of that rate. Not a Google Benchmark: a run takes
// seconds to minutes and is its own measure.
//
//   pipeline_bench [--hosts 10000,100000,1000000] [--results N] [--threads N] [--wait SECONDS] [--latency 0|1]
//                  [--policy creditnew] [--directory DIR]
//
// Workload: two replicas of a workunit on two hosts, five in a hundred validations before their completion
// (services/cobblestone/generate.h); one completion and one validation for each result, from events prepared in memory.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/wire/topics.h"
#include "services/cobblestone/engine.h"
#include "services/cobblestone/generate.h"

namespace cobblestone {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::uint64_t> hosts = {10000, 100000, 1000000};
  std::uint64_t results = 2000000;
  std::uint32_t threads = 2;
  std::string policy = "creditnew";
  std::string directory;
  bool latency = true;
  double flush_interval = 5;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

std::uint64_t FromProc(const char* file, const char* field) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(field, 0) == 0) return std::strtoull(line.c_str() + std::strlen(field), nullptr, 10);
  return 0;
}

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

struct Prepared {
  std::vector<AppendBlock> members;    // catalogue and members, before the clock starts
  std::vector<AppendBlock> blocks;     // one completion and one validation per result
  std::uint64_t results = 0;
  std::uint64_t grants = 0;            // that must come of it
};

// Blocks of about `size` events, in the order of the generator.
Prepared Prepare(const GenerateOptions& options, std::size_t size) {
  Prepared prepared;
  Generator generator(options);
  std::string envelope;
  std::uint64_t line = 0;
  AppendBlock block{.source = "bench"};
  bool broadcast_block = false;
  bool data = false;
  const auto close = [&] {
    if (block.lines.empty()) return;
    block.barrier = broadcast_block;
    (data ? prepared.blocks : prepared.members).push_back(std::move(block));
    block = AppendBlock{.source = "bench", .first_line = line};
  };
  while (generator.Next(&envelope)) {
    const auto routing = wire::PeekRouting(envelope);
    const bool broadcast = routing && routing->key == wire::KeyKind::kBroadcast;
    const bool is_data = routing && (routing->kind == wire::EventKind::kCompletion ||
                                     routing->kind == wire::EventKind::kValidation);
    if (broadcast != broadcast_block || is_data != data || block.lines.size() >= size) {
      close();
      broadcast_block = broadcast;
      data = is_data;
    }
    if (routing && routing->kind == wire::EventKind::kValidation) ++prepared.results;
    block.lines.push_back({.envelope = envelope, .original = {}, .problem = {}});
    ++line;
  }
  close();
  return prepared;
}

settings::RunSettings Settings(const Options& options, const std::string& directory) {
  settings::RunSettings settings;
  settings.data_directory = directory;
  settings.threads = options.threads;
  settings.memory.objects = 4 * settings::kGiB;
  settings.state.flush_interval = std::chrono::milliseconds(static_cast<long>(options.flush_interval * 1000));
  settings.commit.interval = std::chrono::milliseconds(2);
  return settings;
}

std::uint64_t Granted(Engine& engine) {
  std::uint64_t grants = 0;
  for (std::uint32_t p = 0; p < engine.pipeline().partitions; ++p) grants += engine.log().DurableEnd({wire::kGrants, p});
  return grants;
}

// Feeds blocks as fast as they are taken, several on their way, as ingest does.
double Feed(Engine& engine, std::vector<AppendBlock> blocks) {
  const auto start = Clock::now();
  for (AppendBlock& block : blocks) {
    auto done = engine.Append(std::move(block));
    if (!done.ok()) {
      std::fprintf(stderr, "append: %s\n", done.status().message().c_str());
      std::exit(1);
    }
  }
  engine.WaitIdle();
  return Seconds(Clock::now() - start);
}

double Throughput(const Options& options, std::uint64_t hosts) {
  GenerateOptions generate;
  generate.results = options.results;
  generate.hosts = hosts;
  generate.policies = {options.policy};
  generate.errors = generate.timeouts = generate.invalid = generate.inconclusive = generate.late = 0;
  generate.duplicates = 0;
  std::fprintf(stderr, "preparing %llu results of %llu hosts ...\n", static_cast<unsigned long long>(options.results),
               static_cast<unsigned long long>(hosts));
  Prepared prepared = Prepare(generate, 20000);
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
    const auto before = (*engine)->log().counters();
    const std::uint64_t written = FromProc("/proc/self/io", "write_bytes:");
    const double cpu = CpuSeconds();
    const double seconds = Feed(**engine, std::move(prepared.blocks));
    const double cpu_used = CpuSeconds() - cpu;
    const auto after = (*engine)->log().counters();
    const double n = static_cast<double>(prepared.results);
    rate = n / seconds;
    std::printf("%8llu hosts: %9.0f results/s, %5.2f us CPU per result, %llu synced writes (%.2f ms each), "
                "%4.0f bytes logged and %4.0f written per result, peak memory %llu MiB, %llu of %llu granted\n",
                static_cast<unsigned long long>(hosts), rate, cpu_used / n * 1e6,
                static_cast<unsigned long long>(after.syncs - before.syncs),
                static_cast<double>(after.sync_nanos - before.sync_nanos) / 1e6 /
                    static_cast<double>(std::max<std::uint64_t>(1, after.syncs - before.syncs)),
                static_cast<double>(after.stored_bytes - before.stored_bytes) / n,
                static_cast<double>(FromProc("/proc/self/io", "write_bytes:") - written) / n,
                static_cast<unsigned long long>(FromProc("/proc/self/status", "VmHWM:") / 1024),
                static_cast<unsigned long long>(Granted(**engine)), static_cast<unsigned long long>(prepared.results));
    std::fflush(stdout);
    (void)(*engine)->Stop();
  }
  std::filesystem::remove_all(directory);
  return rate;
}

// Completion -> posted: small blocks at a fixed rate; a grant counts as posted when the commit that applied it to its
// account is durable. Measured at the ledger: when the grants of a block's decided results have been consumed by
// ACCOUNTS. Taken block by block from the time at which the block was due.
void Latency(const Options& options, std::uint64_t hosts, double rate) {
  GenerateOptions generate;
  generate.results = std::min<std::uint64_t>(options.results, static_cast<std::uint64_t>(rate * 20));
  generate.hosts = hosts;
  generate.policies = {options.policy};
  generate.errors = generate.timeouts = generate.invalid = generate.inconclusive = generate.late = 0;
  generate.duplicates = 0;
  const double interval = 0.002;
  const auto size = static_cast<std::size_t>(std::max(2.0, rate * 2 * interval));
  Prepared prepared = Prepare(generate, size);
  const std::string directory = options.directory + "/latency";
  std::filesystem::remove_all(directory);
  {
    auto engine = Engine::Open(Settings(options, directory), [](const std::string&) {});
    if (!engine.ok()) std::exit(1);
    (*engine)->Start();
    Feed(**engine, std::move(prepared.members));
    // Totals are written in the commit that applies a grant; how many account changes are durable tells what is posted.
    // Each posted grant is awaited through the ledger's consumption: the runner's lag of grants.
    std::vector<double> milliseconds;
    std::mutex mutex;
    struct Mark {
      std::uint64_t grants = 0;
      Clock::time_point due;
    };
    std::vector<Mark> marks;
    std::atomic<bool> stop{false};
    std::thread watcher([&] {
      std::size_t next = 0;
      while (true) {
        const bool last = stop;
        const std::uint64_t posted = (*engine)->PostedGrants();
        const auto now = Clock::now();
        {
          std::lock_guard lock(mutex);
          for (; next < marks.size() && marks[next].grants <= posted; ++next)
            milliseconds.push_back(Seconds(now - marks[next].due) * 1e3);
          if (last && next == marks.size()) return;
        }
        if (last && (*engine)->idle()) return;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    });
    // A result is decided with its workunit's last claim: count what must have been granted after each block.
    std::map<std::uint64_t, int> claims;   // by workunit, joined results
    std::map<std::uint64_t, int> halves;   // by result
    std::uint64_t decided = 0;
    const auto start = Clock::now();
    std::size_t k = 0;
    wire::HotEvent event;
    for (AppendBlock& block : prepared.blocks) {
      const auto due = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval * static_cast<double>(k++)));
      const std::uint64_t before = decided;
      for (const SourceLine& line : block.lines) {
        if (wire::DecodeHot(line.envelope, &event) != wire::HotDecode::kHot) continue;
        const bool completion = event.kind == wire::EventKind::kCompletion;
        const std::uint64_t result = completion ? event.completion.result.value : event.validation.result.value;
        const std::uint64_t workunit = completion ? event.completion.workunit.value : event.validation.workunit.value;
        if (++halves[result] < 2) continue;
        halves.erase(result);
        if (++claims[workunit] < 2) continue;
        claims.erase(workunit);
        decided += 2;
      }
      std::this_thread::sleep_until(due);
      auto done = (*engine)->Append(std::move(block));
      if (!done.ok()) std::exit(1);
      if (decided > before) {
        std::lock_guard lock(mutex);
        marks.push_back({decided, due});
      }
    }
    (*engine)->WaitIdle();
    stop = true;
    watcher.join();
    std::sort(milliseconds.begin(), milliseconds.end());
    if (!milliseconds.empty())
      std::printf("%8llu hosts at %.0f results/s: completion -> posted p50 %.1f ms, p99 %.1f ms, max %.1f ms "
                  "(%zu blocks)\n",
                  static_cast<unsigned long long>(hosts), rate, milliseconds[milliseconds.size() / 2],
                  milliseconds[milliseconds.size() * 99 / 100], milliseconds.back(), milliseconds.size());
    (void)(*engine)->Stop();
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    const std::string value = argv[i + 1];
    if (key == "--hosts") {
      options.hosts.clear();
      for (std::size_t at = 0; at < value.size();) {
        const std::size_t comma = std::min(value.find(',', at), value.size());
        options.hosts.push_back(std::stoull(value.substr(at, comma - at)));
        at = comma + 1;
      }
    } else if (key == "--results") {
      options.results = std::stoull(value);
    } else if (key == "--threads") {
      options.threads = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "--policy") {
      options.policy = value;
    } else if (key == "--directory") {
      options.directory = value;
    } else if (key == "--latency") {
      options.latency = value != "0";
    } else if (key == "--flush") {
      options.flush_interval = std::stod(value);
    }
  }
  if (options.directory.empty())
    options.directory = std::filesystem::temp_directory_path() / ("cobblestone-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(options.directory);
  for (const std::uint64_t hosts : options.hosts) {
    const double rate = cobblestone::Throughput(options, hosts);
    if (options.latency) cobblestone::Latency(options, hosts, rate / 2);
  }
  std::filesystem::remove_all(options.directory);
  return 0;
}
