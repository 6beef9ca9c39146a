// The cost of an export of a whole project. The benchmark writes a file of entities, exports it, and reads the
// export back; it prints rows per second, CPU, memory and sizes. With --state a pipeline adopts the rows, and the
// export reads the state of the pipeline, with control totals. With --beside the pipeline ingests events in
// alternate runs without and with a concurrent export.
//
//   ./dev bench export --help
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/base/thread.h"
#include "services/access/client.h"
#include "services/access/ingest.h"
#include "services/adoption/adoption.h"
#include "services/audit/control_totals.h"
#include "services/embedded/engine.h"
#include "services/embedded/engine_state.h"
#include "services/export/entities_file.h"
#include "services/export/export_job.h"
#include "services/export/state/state_source.h"
#include "tests/bench/bench_traffic.h"

namespace cobblestone {

using access::ClientOf;
using access::Ingest;
using access::IngestSummary;
using audit::Reconcile;
using embedded::Engine;
using embedded::OpenCopiedState;
using exports::StateSource;
using intake::AppendBlock;
using ledger::LedgerSums;
using traffic::GenerateOptions;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t hosts = 1'000'000;
  int threads = 2;
  std::string compression = "gzip";
  std::string sort;
  std::string directory = "export_bench_data";
  bool read = false;
  bool state = false;
  std::uint32_t beside = 0;  // runs with an export
  int nice = 15;
  std::uint64_t results = 300'000;
};

constexpr ProjectId kProject{1};

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

double RssMiB() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Numbers and texts with the variety of a real project.
class Entities {
 public:
  Entities(const Options& options, const std::string& path)
      : options_(options), file_(path, std::ios::binary | std::ios::trunc) {}

  void Write() {
    const std::uint64_t users = options_.hosts / 3 + 1;
    const std::uint64_t teams = users / 50 + 1;
    file_ << "{\n\"users\": [\n";
    for (std::uint64_t id = 1; id <= users; ++id)
      Row(id == users,
          R"({"id": %llu, "name": "Volunteer %llu", "create_time": %llu, "total_credit": %.17g, "expavg_credit": %.17g, )"
          R"("expavg_time": %.17g, "cross_project_id": "%016llx%016llx", "email_addr": "v%llu@example.org", )"
          R"("country": "Germany", "url": "", "teamid": %llu, "has_profile": 0, "show_hosts": 1, "authenticator": "%016llx"})",
          id, id, Whole(1'000'000'000, 600'000'000), Credit(), Credit() / 100, Time(), random_(), random_(),
          id, random_() % 3 == 0 ? 0 : random_() % teams + 1, random_());
    file_ << "],\n\"teams\": [\n";
    for (std::uint64_t id = 1; id <= teams; ++id)
      Row(id == teams,
          R"({"id": %llu, "create_time": %llu, "userid": %llu, "name": "Team %llu", "type": 1, "total_credit": %.17g, )"
          R"("expavg_credit": %.17g, "expavg_time": %.17g, "url": "http://team%llu.org", "name_html": "", )"
          R"("description": "We crunch & <b>crunch</b>", "country": "International"})",
          id, Whole(1'000'000'000, 600'000'000), id * 7, id, Credit(), Credit() / 100, Time(), id);
    file_ << "],\n\"hosts\": [\n";
    for (std::uint64_t id = 1; id <= options_.hosts; ++id)
      Row(id == options_.hosts,
          R"({"id": %llu, "create_time": %llu, "userid": %llu, "rpc_time": %llu, "total_credit": %.17g, )"
          R"("expavg_credit": %.17g, "expavg_time": %.17g, "timezone": 3600, "domain_name": "host%llu", "p_ncpus": %llu, )"
          R"("p_vendor": "GenuineIntel", "p_model": "Intel(R) Core(TM) i%llu-%llu CPU @ 3.%02lluGHz [Family 6 Model 158]", )"
          R"("p_fpops": %.17g, "p_iops": %.17g, "p_membw": 1000000000, "os_name": "Linux Debian", )"
          R"("os_version": "Debian GNU/Linux 13 [6.12.%llu+deb13-amd64|libc 2.41]", "m_nbytes": %llu, "m_cache": 1048576, )"
          R"("m_swap": %.17g, "d_total": %.17g, "d_free": %.17g, "n_bwup": %.17g, "n_bwdown": %.17g, )"
          R"("avg_turnaround": %.17g, "credit_per_cpu_sec": %.17g, "host_cpid": "%016llx%016llx", "misc": ""})",
          id, Whole(1'000'000'000, 600'000'000), random_() % users + 1, Whole(1'600'000'000, 100'000'000),
          Credit(), Credit() / 100, Time(), id, Whole(1, 64), Whole(3, 7), Whole(1000, 9000), Whole(0, 100),
          Number(5e9), Number(1e10), Whole(0, 40), Whole(1'000'000'000, 64'000'000'000), Number(1e10),
          Number(1e12), Number(1e11), Number(1e6), Number(1e7), Number(1e6), Number(1), random_(), random_());
    file_ << "]\n}\n";
  }

 private:
  template <class... Values>
  void Row(bool last, const char* format, Values... values) {
    char text[2048];
    std::snprintf(text, sizeof text, format, values...);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    file_ << text << (last ? "\n" : ",\n");
  }
  unsigned long long Whole(unsigned long long first, unsigned long long count) {
    return first + random_() % count;
  }
  double Number(double most) { return most * std::uniform_real_distribution<>()(random_); }
  double Credit() { return std::exp(Number(20)); }
  double Time() { return 1.6e9 + Number(1e8); }

  const Options& options_;
  std::ofstream file_;
  std::mt19937_64 random_{1};
};

std::string SpecText(const Options& options) {
  std::string text = "<boinc_db_dump_spec>";
  for (const char* table : {"user", "team", "host"}) {
    text += std::string("<enumeration><table>") + table + "</table><filename>" + table + "</filename>";
    if (!options.sort.empty()) text += "<sort>" + options.sort + "</sort>";
    text += "<output><compression>" + options.compression + "</compression><detail/></output></enumeration>";
  }
  return text + "</boinc_db_dump_spec>";
}

int Fail(const Status& status) {
  std::fprintf(stderr, "export_bench: %s\n", status.message().c_str());
  return 1;
}

template <class T>
T Must(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::exit(Fail(result.status()));
}
void Must(const Status& status) {
  if (!status.ok()) std::exit(Fail(status));
}

std::unique_ptr<Engine> OpenEngine(const Options& options) {
  settings::RunSettings settings;
  settings.data_directory = options.directory + "/data";
  settings.threads = static_cast<std::uint32_t>(options.threads);
  return Must(Engine::Open(settings, [](const std::string&) {}));
}

// Adopts the rows into a data directory. A child process does it, so that the peak memory of this process is that
// of the export.
void Adopt(const Options& options, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const auto engine = OpenEngine(options);
      engine->Start();
      const auto entities = Must(exports::EntitiesFile::Open(path, {}));
      const auto client = ClientOf(*engine);
      IngestSummary summary;
      Must(Ingest(*client, adoption::StreamOf(*entities, {.project = kProject}, 0), {.source = "rows"}, {},
                  &summary));
      engine->WaitIdle();
      Must(engine->Stop());
    }
    ::_exit(0);
  }
  int ended = 0;
  if (::waitpid(child, &ended, 0) != child || ended != 0) std::exit(1);
}

// A source and control totals as `cobblestone export` makes them.
std::unique_ptr<exports::Source> FromState(view::State& state, Engine& engine, exports::ExportJob* job) {
  auto source = Must(StateSource::Open(state, {.project = kProject}));
  const auto kept = Must(engine.SumLedger(source->snapshot().places, false, {}));
  LedgerSums sums = Must(LedgerSums::Load(kept.at("file").get<std::string>()));
  job->ledger = Must(Reconcile(source->snapshot(), kProject, sums));
  return source;
}

// Exports the stored state of a running pipeline again and again, until Stop().
class Exports {
 public:
  Exports(const Options& options, Engine& engine)
      : thread_([this, &options, &engine] { Run(options, engine); }) {}
  // Returns the number of exports so far, with the finished fraction of the present one, which is completed.
  double Stop() {
    const double done = whole_ + part_;
    stopping_ = true;
    thread_.join();
    return done;
  }

 private:
  void Run(const Options& options, Engine& engine) {
    if (options.nice > 0) LowerThreadPriority(options.nice);
    while (!stopping_) {
      const auto copy = Must(engine.CopyState());
      const auto state = Must(OpenCopiedState(copy.at("directory").get<std::string>(), engine.pipeline()));
      exports::ExportJob job{.now = 1'700'000'000,
                             .out = options.directory + "/stats",
                             .delete_old = true,
                             .threads = options.threads,
                             .progress = [this](std::uint64_t rows, std::uint64_t all) {
                               part_ = static_cast<double>(rows) / static_cast<double>(all);
                             }};
      const auto source = FromState(*state, engine, &job);
      (void)Must(exports::RunExport(*source, Must(exports::ParseSpec(SpecText(options), "spec")), job));
      whole_ = whole_ + 1;
      part_ = 0;
    }
  }

  std::atomic<bool> stopping_{false};
  std::atomic<double> whole_{0};
  std::atomic<double> part_{0};
  std::thread thread_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Beside(const Options& options, Engine& engine) {
  engine.Start();
  std::vector<double> rates[2];
  for (std::uint32_t run = 0; run <= 2 * options.beside; ++run) {
    GenerateOptions traffic = PlainTraffic(options.results, 20'000, "creditnew");
    traffic.project = run + 2;  // a project of its own for each run
    Prepared prepared = Prepare(traffic, 20'000, 0);
    for (auto* blocks : {&prepared.members, &prepared.blocks})
      for (AppendBlock& block : *blocks) block.source = "run " + std::to_string(run);
    const auto feed = [&](const std::vector<AppendBlock>& blocks) {
      for (const AppendBlock& block : blocks) (void)Must(engine.BeginAppend(block));
      engine.WaitIdle();
    };
    feed(prepared.members);
    const bool exports =
        run % 4 == 2 || run % 4 == 3;  // run 0 is a warm-up; then without, with, with, without, ...
    std::optional<Exports> beside;
    if (exports) beside.emplace(options, engine);
    const auto start = Clock::now();
    feed(prepared.blocks);
    const double rate = static_cast<double>(prepared.results) / Seconds(start);
    const double done = beside ? beside->Stop() : 0;
    if (run == 0) continue;
    rates[exports].push_back(rate);
    std::printf("%s  %7.0f results/s", exports ? "with an export beside" : "without              ", rate);
    if (exports)
      std::printf(", %.2f exports of %llu hosts", done, static_cast<unsigned long long>(options.hosts));
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("an export beside: %+.1f %% results/s by the medians of %u runs\n",
              (Median(rates[1]) / Median(rates[0]) - 1) * 100, options.beside);
  Must(engine.Stop());
  std::filesystem::remove_all(options.directory);
  return 0;
}

int Run(const Options& options) {
  // The directory is deleted at the end, so it must not exist before.
  if (!std::filesystem::create_directory(options.directory))
    return Fail(Status::InvalidArgument(options.directory + " exists already; name another directory"));
  const std::string path = options.directory + "/entities.json";
  auto start = Clock::now();
  Entities(options, path).Write();
  std::printf("made       %8.2f s  %.0f MiB, %.0f MiB resident\n", Seconds(start),
              static_cast<double>(std::filesystem::file_size(path)) / (1 << 20), RssMiB());
  std::unique_ptr<Engine> engine;
  if (options.state) {
    start = Clock::now();
    Adopt(options, path);
    std::printf("adopted    %8.2f s\n", Seconds(start));
    engine = OpenEngine(options);
    if (options.beside > 0) return Beside(options, *engine);
  }
  start = Clock::now();
  const double cpu = CpuSeconds();
  exports::ExportJob job{.now = 1'700'000'000,
                         .out = options.directory + "/stats",
                         .delete_old = true,
                         .threads = options.threads};
  std::unique_ptr<exports::Source> source;
  if (options.state) {
    source = FromState(engine->stored_state(), *engine, &job);
  } else {
    source = Must(exports::EntitiesFile::Open(path, {}));
  }
  std::printf("found      %8.2f s  %.0f MiB resident\n", Seconds(start), RssMiB());
  const auto spec = exports::ParseSpec(SpecText(options), "spec");
  if (!spec.ok()) return Fail(spec.status());
  const auto write = Clock::now();
  const auto outcome = exports::RunExport(*source, *spec, job);
  if (!outcome.ok()) return Fail(outcome.status());
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t content = 0;
  for (const exports::FileFigures& file : outcome->manifest.files) {
    records += file.records;
    bytes += file.bytes;
    content += file.content_bytes;
  }
  std::printf("written    %8.2f s  %.0f MiB resident, %.1f MiB of %.1f MiB content\n", Seconds(write),
              RssMiB(), static_cast<double>(bytes) / (1 << 20), static_cast<double>(content) / (1 << 20));
  std::printf("exported   %8.2f s  %llu records, %.0f records/s, %d threads, %.2f s CPU\n", Seconds(start),
              static_cast<unsigned long long>(records), static_cast<double>(records) / Seconds(start),
              options.threads, CpuSeconds() - cpu);
  if (options.read) {
    start = Clock::now();
    const auto back = exports::ReadBack({outcome->directory}, nullptr);
    if (!back.ok()) return Fail(back.status());
    if (!back->differences.empty()) return Fail(Status::Corrupted(back->differences.front()));
    std::printf("read back  %8.2f s  %.0f MiB resident\n", Seconds(start), RssMiB());
  }
  std::filesystem::remove_all(options.directory);
  return 0;
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("An export of a project of any size");
  app.add_option("--hosts", options.hosts, "hosts; a third as many users")->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--compression", options.compression, "gzip, zip, none")->capture_default_str();
  app.add_option("--sort", options.sort,
                 "id, total_credit, expavg_credit; without it the order of the source");
  app.add_option("--directory", options.directory, "created, and deleted at the end")->capture_default_str();
  app.add_flag("--read", options.read, "also read the export back");
  app.add_flag("--state", options.state, "from the state of a pipeline that has adopted the rows");
  app.add_option("--beside", options.beside,
                 "number of runs of a pipeline with concurrent exports, and of runs without");
  app.add_option("--results", options.results, "results of each of these runs")->capture_default_str();
  app.add_option("--nice", options.nice, "niceness of the concurrent exports")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.state = options.state || options.beside > 0;
  return cobblestone::Run(options);
}
