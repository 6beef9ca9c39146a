#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "services/access/ingest.h"
#include "services/access/server.h"
#include "services/cli/child_process.h"
#include "services/cli/demo_page.h"
#include "services/cli/format.h"
#include "services/cli/golden_comparison.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/events/event_file.h"
#include "services/traffic/generate.h"

namespace cobblestone::commands {

using access::ConnectClient;
using access::Ingest;
using access::IngestOptions;
using access::IngestPoint;
using access::IngestSummary;
using access::SocketAnswers;
using cli::AuditText;
using cli::ChildProcess;
using cli::CompareWithGolden;
using cli::ExplainText;
using cli::ReadExpectedGrants;
using cli::ShowPage;
using cli::SomebodyLooks;
using cli::StopSignals;
using embedded::Engine;
using events::EventWriter;
using traffic::Generator;

namespace {

using Clock = std::chrono::steady_clock;

constexpr ProjectId kGoldenProject{1};
constexpr ProjectId kSyntheticProject{2};
constexpr auto kLongestStart = std::chrono::seconds(60);

struct DemoArguments {
  std::string input;
  std::string expected;
  std::uint64_t results = 200000;
  double page_rate = 100;  // results/s
  bool keep = false;
  bool page = false;
  bool no_page = false;
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The data directory of the demo, removed unless it is to be kept.
class DemoDirectory {
 public:
  explicit DemoDirectory(bool keep) : keep_(keep) {
    std::error_code ignored;  // a failure leaves path_ empty
    const auto folder = std::filesystem::temp_directory_path(ignored);
    std::string name = (folder / "cobblestone-demo-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~DemoDirectory() {
    std::error_code ignored;  // remaining files are in the folder for temporary files
    if (!keep_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  DemoDirectory(const DemoDirectory&) = delete;
  DemoDirectory& operator=(const DemoDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool keep_;
};

struct Taken {
  IngestSummary summary;
  double seconds = 0;  // until everything was granted and posted
};

Result<Taken> TakeIn(Client& client, const IngestOptions& options) {
  Taken taken;
  const auto begin = Clock::now();
  Progress progress("events", false);
  Status status = Ingest(
      client, options,
      [&](const IngestPoint& point) {
        progress.Show({.done = point.bytes_read, .all = point.bytes_total, .counted = point.taken});
      },
      &taken.summary);
  if (status.ok()) status = client.WaitIdle();
  if (!status.ok()) return status;
  taken.seconds = SecondsSince(begin);
  return taken;
}

Status WaitForSocket(ChildProcess& run, const std::string& socket, const std::string& log) {
  const auto until = Clock::now() + kLongestStart;
  while (!SocketAnswers(socket)) {
    if (!run.running() || Clock::now() > until) {
      std::ifstream file(log);
      return Status::Fatal("the pipeline did not start; its output:\n" +
                           std::string(std::istreambuf_iterator<char>(file), {}));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Status::Ok();
}

Status WriteSynthetic(const std::string& path, std::uint64_t results) {
  auto writer = EventWriter::Open(path);
  if (!writer.ok()) return writer.status();
  Generator generator({.project = kSyntheticProject.value, .results = results, .hosts = 10000});
  for (std::string envelope; generator.Next(&envelope);)
    if (Status status = (*writer)->Write(envelope); !status.ok()) return status;
  return (*writer)->Close();
}

void Step(const std::string& what) {
  std::printf("== %s\n", what.c_str());
  std::fflush(stdout);
}

std::string Rate(std::uint64_t count, double seconds) {
  return WithCommas(static_cast<std::uint64_t>(static_cast<double>(count) / std::max(seconds, 1e-9)));
}

std::string AmountText(credit::MicroTotal micro) {
  // Amounts of a demo fit 64 bits.
  const auto whole = static_cast<std::uint64_t>(micro);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06llu", static_cast<unsigned long long>(whole % 1000000));
  return WithCommas(whole / 1000000) + fraction;
}

// ingest -> run, on a separate process. Then it is stopped, as an operator would.
Status PlayRun(const DemoArguments& options, const settings::RunSettings& settings, Taken* golden,
               Taken* synthetic) {
  const std::string log = settings.data_directory + "/run.log";
  auto run = ChildProcess::Start({"/proc/self/exe", "run", "--data", settings.data_directory}, log);
  if (!run.ok()) return run.status();
  if (Status status = WaitForSocket(*run, settings.listen.socket, log); !status.ok()) return status;
  auto client = ConnectClient(settings.listen.socket);
  if (!client.ok()) return client.status();

  const std::string name = std::filesystem::path(options.input).filename().string();
  Step("ingest " + name + ": a project's history, in lockstep, in BOINC's order");
  auto taken = TakeIn(**client, {.file = options.input, .source = name, .project = kGoldenProject});
  if (!taken.ok()) return taken.status();
  *golden = std::move(*taken);

  if (options.results > 0) {
    Step("ingest of synthetic traffic of a second project, at full speed");
    const std::string file = settings.data_directory + "/synthetic.pb";
    if (Status status = WriteSynthetic(file, options.results); !status.ok()) return status;
    taken = TakeIn(**client, {.file = file, .source = "synthetic"});
    if (!taken.ok()) return taken.status();
    *synthetic = std::move(*taken);
  }
  client->reset();
  run->Signal(SIGTERM);
  if (const int code = run->Wait(); code != kExitOk)
    return Status::Fatal("the pipeline did not stop cleanly (exit code " + std::to_string(code) +
                         "); its log is " + log);
  return Status::Ok();
}

int RunDemo(const DemoArguments& given) {
  DemoArguments options = given;
  const std::string input_end = ".in.jsonl.gz";
  if (options.expected.empty()) {
    if (!options.input.ends_with(input_end)) {
      return ReportError(Status::InvalidArgument(
          options.input + ": set --expected to the file with BOINC's output for this history"));
    }
    options.expected = options.input.substr(0, options.input.size() - input_end.size()) + ".exact.jsonl.gz";
  }
  const auto expected = ReadExpectedGrants(options.expected);
  if (!expected.ok()) return ReportError(expected.status());
  const DemoDirectory directory(options.keep);
  if (directory.path().empty())
    return ReportError(Status::InvalidArgument(
        "cannot create a directory for temporary files; set TMPDIR to another directory"));
  const auto settings = SettingsOf({.config = "", .data = directory.path()});
  if (!settings.ok()) return ReportError(settings.status());

  Taken golden;
  Taken synthetic;
  Step("run: the pipeline, in a temporary data directory (" + directory.path() + ")");
  if (Status status = PlayRun(options, *settings, &golden, &synthetic); !status.ok())
    return ReportError(status);

  // Before the engine's threads start: the store never ends some threads, and no signal may be delivered to
  // these.
  const bool page = options.page || (SomebodyLooks() && !options.no_page);
  std::optional<StopSignals> signals;
  if (page) signals.emplace();
  auto opened = Engine::Open(*settings, ReportOpening);
  if (!opened.ok()) return ReportError(opened.status());
  std::unique_ptr<Engine> engine = std::move(*opened);
  Step("compare each grant bit for bit with the grant of BOINC's own server code");
  const auto comparison = CompareWithGolden(*engine, kGoldenProject, *expected);
  if (!comparison.ok()) return ReportError(comparison.status());
  Step("audit: recompute every grant from its recorded inputs, and every total from the grants");
  const auto audit_begin = Clock::now();
  Progress progress("records", false);
  const auto audit = engine->Audit([&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  });
  progress.Finish();
  if (!audit.ok()) return ReportError(audit.status());
  const double audit_seconds = SecondsSince(audit_begin);
  const auto explained = engine->questions().Explain(kGoldenProject, ResultId(comparison->example));
  if (!explained.ok()) return ReportError(explained.status());

  const std::size_t problems = audit->contains("problems") ? (*audit)["problems"].size() : 1;
  const bool equal = comparison->compared > 0 && comparison->different == 0;
  std::printf(
      "\n---- one of the grants -----------------------------------------------------------\n\n"
      "%s",
      ExplainText(*explained).c_str());
  std::printf("\n---- summary ---------------------------------------------------------------------\n\n");
  std::printf("  history      %s results in %.1f s (%s/s): drained at each of BOINC's scale updates\n",
              WithCommas(golden.summary.completions).c_str(), golden.seconds,
              Rate(golden.summary.completions, golden.seconds).c_str());
  if (synthetic.summary.completions > 0) {
    std::printf("  free running %s results in %.1f s (%s/s), durable on return\n",
                WithCommas(synthetic.summary.completions).c_str(), synthetic.seconds,
                Rate(synthetic.summary.completions, synthetic.seconds).c_str());
  }
  std::printf("  credit       %s Cobblestones granted for the history\n",
              AmountText(comparison->micro).c_str());
  std::printf("  BOINC        %s grants compared bit for bit, %s different\n",
              WithCommas(comparison->compared).c_str(), WithCommas(comparison->different).c_str());
  for (const std::string& difference : comparison->first)
    std::printf("               %s\n", difference.c_str());
  std::printf("  audit        %s in %.1f s\n",
              problems == 0 ? "no problems" : (WithCommas(problems) + " problems").c_str(), audit_seconds);
  if (problems > 0) std::printf("%s", AuditText(*audit).c_str());
  std::printf("\n  next         cobblestone --help; README.md and ARCHITECTURE.md\n");
  if (options.keep) {
    std::printf("               cobblestone explain %llu --data %s\n",
                static_cast<unsigned long long>(comparison->example), directory.path().c_str());
  } else {
    std::printf("               --keep keeps the data directory for more queries\n");
  }
  if (page) {
    engine.reset();
    if (Status status = ShowPage(*settings, options.page_rate, *signals); !status.ok())
      return ReportError(status);
  }
  return equal && problems == 0 ? kExitOk : kExitProblems;
}

}  // namespace

void AddDemo(Program& program) {
  AddVerb<DemoArguments>(
      program, "demo",
      "Ingests a BOINC project's history, audits it, and compares every grant with BOINC's own grant",
      [](Verb& verb, DemoArguments& options) {
        options.input = COBBLESTONE_SOURCE_DIR "/tests/golden/data/s10_mixed_large.in.jsonl.gz";
        verb.Add("--input", options.input, "history in the golden format (default: s10_mixed_large)")
            .Type("FILE");
        verb.Add("--expected", options.expected,
                 "BOINC's output for the history (default: the .exact.jsonl.gz beside the .in.jsonl.gz)")
            .Type("FILE");
        verb.Add("--results", options.results,
                 "number of results of synthetic traffic, to measure the throughput; 0: none")
            .Type("N")
            .ShowDefault();
        verb.Flag(
            "--page", options.page,
            "after the summary, serve the web page with live traffic until Ctrl-C (default at a terminal)");
        verb.Flag("--no-page", options.no_page, "exit after the summary").Excludes("--page");
        verb.Add("--page-rate", options.page_rate, "rate of the live traffic, results per second")
            .Between(1.0, 10000.0)
            .Type("R")
            .ShowDefault();
        verb.Flag("--keep", options.keep, "keep the data directory");
        verb.Footer(
            "Exit code 0: every grant equals BOINC's grant bit for bit, and the audit found no problems.");
      },
      RunDemo);
}

}  // namespace cobblestone::commands
