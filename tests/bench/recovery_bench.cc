// Recovery after an unclean stop. A child process ingests results with the default settings and kills itself
// (SIGKILL) before all of them are processed. Then this process opens the data directory and sends a new workunit.
// The benchmark prints the size of the log, the work of the open, and the seconds from the start of the open until
// the new events are acknowledged and until their grants are posted. It does not use Google Benchmark, because a
// run takes minutes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "services/traffic/generate.h"

namespace cobblestone {

using embedded::Engine;
using intake::AppendBlock;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t results = 5000000;
  std::uint64_t hosts = 100000;
  std::uint32_t threads = 2;
  std::string policy = "creditnew";
  std::string directory;
};

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

settings::RunSettings Settings(const Options& options) {
  settings::RunSettings settings;
  settings.data_directory = options.directory;
  settings.threads = options.threads;
  return settings;
}

GenerateOptions Traffic(const Options& options, std::uint64_t results) {
  GenerateOptions traffic;
  traffic.results = results;
  traffic.hosts = options.hosts;
  traffic.policies = {options.policy};
  traffic.errors = traffic.timeouts = traffic.invalid = traffic.inconclusive = traffic.late = 0;
  traffic.duplicates = 0;
  return traffic;
}

std::unique_ptr<Engine> Open(const Options& options) {
  auto engine =
      Engine::Open(Settings(options), [](const std::string& what) { std::printf("  %s\n", what.c_str()); });
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().message().c_str());
    std::exit(1);
  }
  (*engine)->Start();
  return *std::move(engine);
}

void Append(Engine& engine, const AppendBlock& block) {
  const auto done = engine.Append(block);
  if (done.ok()) return;
  std::fprintf(stderr, "append: %s\n", done.status().message().c_str());
  std::exit(1);
}

// Appends all events of `traffic` in blocks like those of ingest. The stages are never far behind, as in a live
// project.
void Feed(Engine& engine, const GenerateOptions& traffic, const std::string& source) {
  Generator generator(traffic);
  AppendBlock block{.source = source};
  std::uint64_t line = 0;
  std::uint64_t blocks = 0;
  const auto close = [&] {
    if (block.lines.empty()) return;
    Append(engine, block);
    block = AppendBlock{.source = source, .first_line = line};
    if (++blocks % 8 == 0) engine.WaitIdle();
  };
  for (std::string envelope; generator.Next(&envelope);) {
    const auto routing = wire::PeekRouting(envelope);
    const bool broadcast = routing && routing->key == wire::KeyKind::kBroadcast;
    if (broadcast != block.barrier || block.lines.size() >= 20000) close();
    block.barrier = broadcast;
    block.lines.push_back({.envelope = envelope, .original = {}, .problem = {}});
    ++line;
  }
  close();
}

int Measure(const Options& options) {
  std::filesystem::remove_all(options.directory);
  const auto filling = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const std::unique_ptr<Engine> engine = Open(options);
    Feed(*engine, Traffic(options, options.results), "before");
    ::kill(::getpid(), SIGKILL);  // the last acknowledged events are not processed yet
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return 1;
  std::printf("%llu results of %llu hosts ingested within %.1f s, then killed\n",
              static_cast<unsigned long long>(options.results),
              static_cast<unsigned long long>(options.hosts), Since(filling));

  const auto start = Clock::now();
  const std::unique_ptr<Engine> engine = Open(options);
  const double opened = Since(start);
  std::uint64_t commits = 0;
  std::uint64_t records = 0;
  std::uint64_t lag = 0;
  for (const auto& slot : engine->runner().status()) {
    commits += slot.reexecuted;
    records += slot.reexecuted_records;
    lag += slot.lag;
  }
  // New results of a second project, so that nothing else depends on them.
  GenerateOptions fresh = Traffic(options, 2);
  fresh.project = 2;
  fresh.hosts = 2;
  Feed(*engine, fresh, "after");
  const double acknowledged = Since(start);
  engine->WaitIdle();
  const double posted = Since(start);
  std::printf(
      "log %.0f MB; open %.2f s (%llu commits, %llu records replayed; %llu were still waiting); "
      "new results acknowledged after %.2f s, all posted after %.2f s; %llu grants\n",
      static_cast<double>(engine->log().disk_bytes()) / 1e6, opened, static_cast<unsigned long long>(commits),
      static_cast<unsigned long long>(records), static_cast<unsigned long long>(lag), acknowledged, posted,
      static_cast<unsigned long long>(engine->Counts().grants));
  (void)engine->Stop();
  return 0;
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("Recovery after a kill: the time until new results are posted.");
  app.add_option("--results", options.results, "Results before the kill")->capture_default_str();
  app.add_option("--hosts", options.hosts, "Hosts")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads that share the slots")->capture_default_str();
  app.add_option("--policy", options.policy, "Policy of all apps")->capture_default_str();
  app.add_option("--directory", options.directory,
                 "Data directory; deleted first and at the end (default: a temporary one)");
  CLI11_PARSE(app, argc, argv);
  if (options.directory.empty())
    options.directory =
        std::filesystem::temp_directory_path() / ("cobblestone-recovery-" + std::to_string(::getpid()));
  const int code = cobblestone::Measure(options);
  std::filesystem::remove_all(options.directory);
  return code;
}
