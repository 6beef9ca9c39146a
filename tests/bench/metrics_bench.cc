// The cost of all metrics together. The pipeline processes the same events in alternate runs without and with
// metrics. In a run with metrics a client scrapes them by HTTP each second (Prometheus: each fifteen). Prints CPU
// per result (all threads) and results/s of each run, then the difference of the medians. CPU is the relevant
// number: waits of threads vary more from run to run than the cost of metrics.
//
//   ./dev bench metrics --help
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>
#include <CLI/CLI.hpp>

#include "common/base/host_port.h"
#include "services/embedded/engine.h"
#include "services/embedded/engine_metrics.h"
#include "services/metrics/scrape_server.h"
#include "services/traffic/generate.h"
#include "tests/bench/bench_traffic.h"

namespace cobblestone {

using embedded::Engine;
using embedded::EngineMetrics;
using intake::AppendBlock;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t hosts = 20000;
  std::uint64_t results = 500000;
  std::uint32_t threads = 2;
  std::uint32_t rounds = 5;
  std::string directory;
};

struct Measured {
  double cpu = 0;   // us for each result
  double rate = 0;  // results/s
  std::uint64_t scrapes = 0;
  double scrape_seconds = 0;
  std::size_t text = 0;  // bytes of the last scrape
};

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

template <class T>
T Must(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.status().message().c_str());
  std::exit(1);
}

void Feed(Engine& engine, const std::vector<AppendBlock>& blocks) {
  for (const AppendBlock& block : blocks) (void)Must(engine.BeginAppend(block));
  engine.WaitIdle();
}

// Scrapes the metrics each second.
class Scraper {
 public:
  explicit Scraper(Engine& engine)
      : metrics_(engine),
        server_(Must(metrics::ScrapeServer::Start({.listen = "127.0.0.1:0",
                                                   .render = [this] { return metrics_.Render(); },
                                                   .health = [this] { return metrics_.health(); }}))) {
    thread_ = std::thread([this] { Scrape(); });
  }
  void Stop(Measured* measured) {
    stopping_ = true;
    thread_.join();
    measured->scrapes = scrapes_;
    measured->scrape_seconds = seconds_;
    measured->text = text_;
  }

 private:
  void Scrape() {
    const HostPort where = Must(ParseHostPort(server_->address()));
    httplib::Client client(where.host, where.port);
    for (auto next = Clock::now(); !stopping_;) {
      if (Clock::now() < next) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      next += std::chrono::seconds(1);
      const auto start = Clock::now();
      const auto answer = client.Get("/metrics");
      if (!answer || answer->status != 200) std::exit(1);
      seconds_ += Seconds(Clock::now() - start);
      text_ = answer->body.size();
      ++scrapes_;
    }
  }

  EngineMetrics metrics_;
  std::unique_ptr<metrics::ScrapeServer> server_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::uint64_t scrapes_ = 0;
  double seconds_ = 0;
  std::size_t text_ = 0;
};

Measured Run(const Options& options, const Prepared& prepared, bool watched) {
  const std::string directory = options.directory + "/data";
  std::filesystem::remove_all(directory);
  settings::RunSettings settings;
  settings.data_directory = directory;
  settings.threads = options.threads;
  Measured measured;
  {
    const auto engine = Must(Engine::Open(settings, [](const std::string&) {}, {.watched = watched}));
    engine->Start();
    Feed(*engine, prepared.members);
    ::sync();  // keeps the write-back of earlier data out of the measurement
    std::unique_ptr<Scraper> scraper;
    if (watched) scraper = std::make_unique<Scraper>(*engine);
    const double cpu = CpuSeconds();
    const auto start = Clock::now();
    Feed(*engine, prepared.blocks);
    const auto n = static_cast<double>(prepared.results);
    measured.rate = n / Seconds(Clock::now() - start);
    measured.cpu = (CpuSeconds() - cpu) / n * 1e6;
    if (scraper) scraper->Stop(&measured);
    if (!engine->Stop().ok()) std::exit(1);
  }
  std::filesystem::remove_all(directory);
  return measured;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  using namespace cobblestone;
  Options options;
  CLI::App app("The cost of all metrics together: the same events in alternate runs without and with them.");
  app.add_option("--hosts", options.hosts, "Number of hosts")->capture_default_str();
  app.add_option("--results", options.results, "Results of a run")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads that share the slots")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Number of runs without metrics, and of runs with them")
      ->capture_default_str();
  app.add_option("--directory", options.directory,
                 "Data directory, deleted at the end (default: a temporary one)");
  CLI11_PARSE(app, argc, argv);
  if (options.directory.empty())
    options.directory =
        std::filesystem::temp_directory_path() / ("cobblestone-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(options.directory);
  const Prepared prepared = Prepare(PlainTraffic(options.results, options.hosts, "creditnew"), 20000, 0);
  (void)Run(options, prepared, false);  // a warm-up, because files and memory are cold in the first run
  std::vector<double> cpu[2];
  std::vector<double> rate[2];
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      const bool watched = (turn == 0) == (round % 2 == 1);  // each of both goes first in half of the rounds
      const Measured one = Run(options, prepared, watched);
      cpu[watched].push_back(one.cpu);
      rate[watched].push_back(one.rate);
      std::printf("%s metrics: %6.2f us CPU per result, %7.0f results/s", watched ? "with   " : "without",
                  one.cpu, one.rate);
      if (one.scrapes > 0)
        std::printf(", %llu scrapes of %.1f ms and %zu KiB", static_cast<unsigned long long>(one.scrapes),
                    one.scrape_seconds / static_cast<double>(one.scrapes) * 1e3, one.text >> 10);
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  // On a shared machine the minimum of some runs is more reliable than their median.
  std::printf(
      "all metrics: %+.1f %% CPU per result by the medians of %u runs (%.2f us, %.2f us without), %+.1f %% by the least "
      "(%.2f us, %.2f us without); %+.1f %% results/s by the medians\n",
      (Median(cpu[1]) / Median(cpu[0]) - 1) * 100, options.rounds, Median(cpu[1]), Median(cpu[0]),
      (Least(cpu[1]) / Least(cpu[0]) - 1) * 100, Least(cpu[1]), Least(cpu[0]),
      (Median(rate[1]) / Median(rate[0]) - 1) * 100);
  std::filesystem::remove_all(options.directory);
  return 0;
}
