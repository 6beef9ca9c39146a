// The cost of requests over HTTP on loopback while the pipeline runs at half of its throughput. For each kind of
// request the benchmark prints the latency seen by the client at a fixed request rate, and the throughput of
// requests sent one after the other. The first kind is a scheduler's estimate. The same process sends events to
// the pipeline at a fixed rate. Clients keep their connections, as a scheduler does.
//
//   ./dev bench gateway --help
#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "services/access/engine_gateway.h"
#include "tests/bench/bench_traffic.h"

namespace cobblestone {

using access::EngineGateway;
using cli::RunLog;
using embedded::Engine;
using intake::AppendBlock;
using traffic::GenerateOptions;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t hosts = 10000;
  std::uint64_t results = 400000;  // to measure the throughput of the pipeline
  double load = 0.5;               // fraction of the throughput during the requests
  double rate = 0;                 // results/s during the requests; 0: `load` of the throughput
  std::uint32_t clients = 2;
  double ask_rate = 200;    // requests/s of each client, evenly spaced, of a scheduler's kinds
  double people_rate = 10;  // likewise, of the kinds that people send
  double seconds = 4;       // for each kind; a quarter more for requests one after the other
  std::string only;         // only this kind
  std::uint32_t threads = 2;
  std::string directory;
};

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

double Feed(Engine& engine, const std::vector<AppendBlock>& blocks) {
  const auto begin = Clock::now();
  for (const AppendBlock& block : blocks) Must(engine.BeginAppend(block));
  engine.WaitIdle();
  return Seconds(Clock::now() - begin);
}

// A kind of request; a random number chooses the path.
struct Kind {
  const char* name;
  bool by_people = false;  // false: by schedulers, whose rate is far higher
  std::function<std::string(std::uint64_t random)> path;
};

std::vector<Kind> KindsOf(const Options& options, const GenerateOptions& traffic) {
  const auto about = [](const char* before, std::uint64_t many, const char* after) {
    return [=](std::uint64_t random) { return before + std::to_string(1 + random % many) + after; };
  };
  const std::uint64_t users = traffic.users > 0 ? traffic.users : options.hosts * 2 / 3;  // as generated
  const std::uint64_t hosts = options.hosts;
  std::vector<Kind> all = {
      {"estimate", false, about("hosts/", hosts, "/estimate?app_version=1&fpops_est=1e13")},
      {"scheduler reply", false, about("scheduler-reply?format=xml&host=", hosts, "")},
      {"host", true, about("hosts/", hosts, "")},
      {"host versions", true, about("hosts/", hosts, "/versions")},
      {"user", true, about("users/", users, "")},
      {"user's grants", true, about("users/", users, "/grants?limit=20")},
      {"why a result", true, about("results/", options.results / 2, "")},
      {"search", true, about("search?limit=20&q=user", users, "")},
      {"leaders", true, about("top/users?limit=50&offset=", users / 2, "")},
      {"scales", true, [](std::uint64_t) { return std::string("scales"); }},
      {"scales' history", true,
       [](std::uint64_t) { return std::string("scales/history?pick=evenly&limit=500"); }},
  };
  if (!options.only.empty()) std::erase_if(all, [&](const Kind& kind) { return kind.name != options.only; });
  return all;
}

struct Samples {
  std::vector<double> milliseconds;
  std::vector<double>
      late;  // ms by which the system woke the client too late; not part of a request's latency
  std::uint64_t failed = 0;
};

// `rate`: requests/s, evenly spaced; 0: one after the other. The latency begins when the request is sent. If the
// request had to wait for the answer to the previous request, the latency begins when it was due.
void SendRequests(const std::string& url, const Kind& kind, double rate, std::uint64_t seed,
                  const std::atomic<bool>& stop, Samples* samples) {
  httplib::Client client(url);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  const httplib::Headers headers = {{"Authorization", "Bearer bench-token-0123456789"}};
  const auto begin = Clock::now();
  std::uint64_t random = seed;
  for (std::uint64_t i = 0; !stop; ++i) {
    auto sent_at = Clock::now();
    if (rate > 0) {
      const auto due = begin + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(static_cast<double>(i) / rate));
      if (due > sent_at) {
        std::this_thread::sleep_until(due);
        sent_at = Clock::now();
        samples->late.push_back(Seconds(sent_at - due) * 1e3);
      } else {
        sent_at = due;
      }
    }
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto reply = client.Get("/api/v1/projects/1/" + kind.path(random >> 33), headers);
    samples->milliseconds.push_back(Seconds(Clock::now() - sent_at) * 1e3);
    if (!reply || (reply->status != 200 && reply->status != 404)) ++samples->failed;
  }
}

double At(const std::vector<double>& ascending, double part) {
  return ascending.empty()
             ? 0
             : ascending[static_cast<std::size_t>(part * static_cast<double>(ascending.size() - 1))];
}

struct Outcome {
  std::vector<double> milliseconds;  // ascending
  std::vector<double> late;          // likewise
  std::uint64_t failed = 0;
  double per_second = 0;
};

Outcome MeasureKind(const std::string& url, const Kind& kind, const Options& options, double rate,
                    double seconds) {
  std::atomic<bool> stop{false};
  std::vector<Samples> samples(options.clients);
  std::vector<std::thread> clients;
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < options.clients; ++i)
    clients.emplace_back([&, i] { SendRequests(url, kind, rate, i + 1, stop, &samples[i]); });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : clients) thread.join();
  Outcome outcome;
  for (const Samples& one : samples) {
    outcome.milliseconds.insert(outcome.milliseconds.end(), one.milliseconds.begin(), one.milliseconds.end());
    outcome.late.insert(outcome.late.end(), one.late.begin(), one.late.end());
    outcome.failed += one.failed;
  }
  std::sort(outcome.milliseconds.begin(), outcome.milliseconds.end());
  std::sort(outcome.late.begin(), outcome.late.end());
  outcome.per_second = static_cast<double>(outcome.milliseconds.size()) / Seconds(Clock::now() - begin);
  return outcome;
}

void Run(const Options& options) {
  ::setenv("COBBLESTONE_TOKENS", "read bench-token-0123456789", 1);
  settings::RunSettings settings;
  settings.data_directory = options.directory;
  settings.threads = options.threads;
  settings.gateway.listen = "127.0.0.1:0";
  const auto engine = Must(Engine::Open(settings, [](const std::string&) {}));
  engine->Start();
  RunLog log({.level = settings::LogLevel::kWarn});

  double rate = options.rate;
  const GenerateOptions traffic = PlainTraffic(options.results, options.hosts, "creditnew");
  Prepared first = Prepare(traffic, 20000, 0);
  Feed(*engine, first.members);
  const double took = Feed(*engine, first.blocks);
  if (rate <= 0) rate = options.load * static_cast<double>(first.results) / took;
  std::printf("%llu hosts; the pipeline takes %.0f results/s, and now %.0f\n",
              static_cast<unsigned long long>(options.hosts), static_cast<double>(first.results) / took,
              rate);
  first = {};
  const auto gateway = Must(EngineGateway::Start(settings, *engine, true, nullptr, log));

  const std::vector<Kind> kinds = KindsOf(options, traffic);
  const double one_by_one = options.seconds / 4;
  const double lasts = 5 + static_cast<double>(kinds.size()) * (options.seconds + one_by_one);
  constexpr double kEvery = 0.01;  // s between blocks
  GenerateOptions more = PlainTraffic(static_cast<std::uint64_t>(rate * lasts), options.hosts, "creditnew");
  more.project = 2;
  Prepared second = Prepare(more, static_cast<std::size_t>(std::max(2.0, rate * 2 * kEvery)), 0);
  // Another source, whose line numbers begin at 0.
  for (std::vector<AppendBlock>* part : {&second.members, &second.blocks})
    for (AppendBlock& block : *part) block.source = "second";
  Feed(*engine, second.members);

  std::atomic<bool> stop{false};
  std::atomic<bool> fed{false};
  std::thread feeder([&] {
    const auto begin = Clock::now();
    for (std::size_t k = 0; k < second.blocks.size() && !stop; ++k) {
      std::this_thread::sleep_until(begin +
                                    std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(kEvery * static_cast<double>(k))));
      Must(engine->BeginAppend(second.blocks[k]));
    }
    fed = !stop;
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::printf("%-16s %10s %10s %10s %10s %10s %14s %7s\n", "kind", "p50 ms", "p99 ms", "p99.9 ms", "longest",
              "woken p99", "requests/s", "failed");
  const double cpu = CpuSeconds();
  const auto begin = Clock::now();
  for (const Kind& kind : kinds) {
    const Outcome paced =
        MeasureKind(gateway->url(), kind, options, kind.by_people ? options.people_rate : options.ask_rate,
                    options.seconds);
    const Outcome back_to_back = MeasureKind(gateway->url(), kind, options, 0, one_by_one);
    std::printf("%-16s %10.3f %10.3f %10.3f %10.1f %10.3f %14.0f %7llu\n", kind.name,
                At(paced.milliseconds, 0.5), At(paced.milliseconds, 0.99), At(paced.milliseconds, 0.999),
                paced.milliseconds.back(), At(paced.late, 0.99), back_to_back.per_second,
                static_cast<unsigned long long>(paced.failed + back_to_back.failed));
    std::fflush(stdout);
  }
  const double cores = (CpuSeconds() - cpu) / Seconds(Clock::now() - begin);
  if (fed) std::printf("the events ended before the last request: use smaller options\n");
  stop = true;
  feeder.join();
  std::printf(
      "latency at %.0f requests/s of schedulers, or %.0f of people, over %u connections; woken: the delay after "
      "which the system wakes a sleeping thread, which is also a part of each latency; requests/s one after the "
      "other on each connection; %.2f cores in all\n",
      options.ask_rate * options.clients, options.people_rate * options.clients, options.clients, cores);
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app(
      "Requests on loopback while the pipeline runs at half load: a scheduler's estimate, and all others.");
  app.add_option("--hosts", options.hosts, "Hosts; each request names a random one")->capture_default_str();
  app.add_option("--results", options.results, "Results to measure the throughput of the pipeline")
      ->capture_default_str();
  app.add_option("--load", options.load, "Fraction of the throughput during the requests")
      ->capture_default_str();
  app.add_option("--rate", options.rate, "Results/s during the requests, instead of --load");
  app.add_option("--askers", options.clients, "Connections that send requests")->capture_default_str();
  app.add_option("--people-rate", options.people_rate,
                 "Requests/s of each connection, for the kinds that people send")
      ->capture_default_str();
  app.add_option("--ask-rate", options.ask_rate,
                 "Requests/s of each connection, for the kinds that schedulers send")
      ->capture_default_str();
  app.add_option("--seconds", options.seconds,
                 "For each kind; a quarter more for requests one after the other")
      ->capture_default_str();
  app.add_option("--only", options.only, "Only this kind, by its name in the table");
  app.add_option("--threads", options.threads, "Threads of the pipeline")->capture_default_str();
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
