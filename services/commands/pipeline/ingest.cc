#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/wire/json/json_lines.h"
#include "services/access/follow.h"
#include "services/access/ingest.h"
#include "services/access/refusals.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/events/event_file.h"
#include "services/events/trickle_file.h"

namespace cobblestone::commands {

using access::BadLine;
using access::Feed;
using access::FindLines;
using access::Ingest;
using access::IngestOptions;
using access::IngestPoint;
using access::IngestSummary;
using access::PrintRefusals;
using access::Refusals;
using access::RefusalsJson;
using access::RefusedSince;
using access::RefusedSoFar;
using cli::StopSignals;
using events::EventFile;
using events::EventFormatName;
using events::EventStream;
using events::TrickleFile;
using events::TrickleFormats;

namespace {

using nlohmann::json;

struct IngestArguments {
  DataPlace place;
  std::string file = "-";
  std::string source;
  std::string format;
  std::string trickle_format;
  std::uint64_t host = 0;
  std::optional<double> received;
  std::optional<std::string> variety;
  std::string file_name;
  bool lockstep = false;
  bool follow = false;
  bool no_wait = false;
  bool as_json = false;
  std::uint32_t project = 1;
};

constexpr const char* kTrickleXml = "trickle-xml";

Result<std::unique_ptr<EventStream>> OpenSource(const IngestArguments& options) {
  const ProjectId project(options.project);
  if (options.format.empty()) {
    if (!options.trickle_format.empty())
      return Status::InvalidArgument(std::string("--trickle-format requires --format ") + kTrickleXml);
    if (options.host != 0 || options.received || options.variety || !options.file_name.empty())
      return Status::InvalidArgument(
          std::string("--host, --received, --variety and --file-name require --format ") + kTrickleXml);
    auto file = EventFile::Open(options.file, {.project = project});
    if (!file.ok()) return file.status();
    return std::unique_ptr<EventStream>(std::move(*file));
  }
  TrickleFormats formats;
  if (!options.trickle_format.empty()) {
    auto loaded = TrickleFormats::Load(options.trickle_format);
    if (!loaded.ok()) return loaded.status();
    formats = std::move(*loaded);
  }
  auto bare = boinc::BareBodies::Of({.host = HostId(options.host),
                                     .received = options.received,
                                     .variety = options.variety,
                                     .file_name = options.file_name});
  if (!bare.ok()) return Status::InvalidArgument("--file-name " + bare.status().message());
  return TrickleFile::Open(options.file, project, formats, *bare);
}

// Refusals of stages contain only the event: reads the file again to find its line.
void FindTheirLines(const IngestArguments& options, Refusals& refusals) {
  if (options.file == "-" || refusals.first.empty()) return;
  std::vector<std::string> envelopes;
  for (const json& one : refusals.first) {
    auto envelope = one.contains("event") ? wire::EnvelopeFromJson(one["event"].dump())
                                          : Result<std::string>(Status::NotFound("no event"));
    envelopes.push_back(envelope.ok() ? *envelope : std::string());
  }
  const auto events = OpenSource(options);
  if (!events.ok()) return;
  auto lines = FindLines(**events, envelopes);
  if (lines.ok()) refusals.lines = std::move(*lines);  // otherwise the report has no line numbers
}

// What became of the new lines: lines = accepted + refused + bad + blank. The pipeline drops repeated events without
// a count of its own; they are accepted.
struct Account {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t results = 0;  // accepted completions

  Account(const IngestSummary& summary, const Refusals& refusals)
      // Other sources that send at the same time can have refusals, too.
      : refused(std::min(refusals.all, summary.events)),
        results(summary.completions - std::min(refusals.results, summary.completions)) {
    accepted = summary.events - refused;
  }
};

json SummaryJson(const IngestOptions& options, const IngestSummary& summary, const Refusals& refusals,
                 double seconds) {
  json bad_lines = json::array();
  for (const BadLine& bad : summary.bad_lines)
    bad_lines.push_back({{"line", bad.line}, {"problem", bad.problem}});
  const Account account(summary, refusals);
  return {{"source", options.source},
          {"format", EventFormatName(summary.format)},
          {"lockstep", summary.lockstep},
          {"known_before", summary.known},
          {"skipped", summary.skipped},
          {"lines", summary.lines},
          {"events", summary.events},
          {"accepted", account.accepted},
          {"results", account.results},
          {"refused", account.refused},
          {"refused_derived", refusals.derived},
          {"refused_by_reason", refusals.by_reason},
          {"refused_earlier", refusals.earlier},
          {"refused_events", RefusalsJson(refusals)},
          {"bad", summary.bad},
          {"bad_lines", bad_lines},
          {"blank", summary.blank},
          {"seconds", seconds}};
}

void PrintSummary(const IngestOptions& options, const IngestSummary& summary, const Refusals& refusals,
                  double seconds) {
  const Account account(summary, refusals);
  const double rate = seconds > 0 ? static_cast<double>(summary.events) / seconds : 0;
  std::printf("%s (%s): %s events ingested, %s of them results, in %.1f s (%s events/s)\n",
              options.source.c_str(), std::string(EventFormatName(summary.format)).c_str(),
              WithCommas(account.accepted).c_str(), WithCommas(account.results).c_str(), seconds,
              WithCommas(static_cast<std::uint64_t>(rate)).c_str());
  if (summary.shorter) {
    std::printf("no new lines: %s lines of this source were already ingested, and the file is shorter\n",
                WithCommas(summary.known).c_str());
  } else if (summary.known > 0) {
    std::printf("%s lines were already ingested, skipped%s\n", WithCommas(summary.known).c_str(),
                summary.lines == 0 ? "; no new lines" : "");
  }
  if (account.accepted < summary.lines)
    std::printf("%s new lines: %s accepted, %s refused, %s not events, %s blank\n",
                WithCommas(summary.lines).c_str(), WithCommas(account.accepted).c_str(),
                WithCommas(account.refused).c_str(), WithCommas(summary.bad).c_str(),
                WithCommas(summary.blank).c_str());
  if (summary.bad > 0) {
    std::printf("%s lines are not events and were refused:\n", WithCommas(summary.bad).c_str());
    for (const BadLine& bad : summary.bad_lines)
      std::printf("  line %llu: %s\n", static_cast<unsigned long long>(bad.line),
                  TerminalText(bad.problem).c_str());
    if (summary.bad > summary.bad_lines.size())
      std::printf("  ... and %s more\n", WithCommas(summary.bad - summary.bad_lines.size()).c_str());
  }
  PrintRefusals(refusals);
}

// Ingests one source and prints its summary. The exit code; an error is printed, except after a signal has interrupted
// a wait (`interrupted`).
int IngestOne(const IngestArguments& options, const IngestOptions& ingest,
              const settings::RunSettings& settings, Client& client, std::unique_ptr<EventStream> events,
              const bool& interrupted) {
  const auto refused_before = RefusedSoFar(client);
  if (!refused_before.ok()) return ReportError(refused_before.status());

  const auto begin = std::chrono::steady_clock::now();
  Progress progress("events", options.as_json ? Progress::Form::kJson : Progress::Form::kText);
  IngestSummary summary;
  Status status = Ingest(
      client, std::move(events), ingest,
      [&](const IngestPoint& point) {
        if (!progress.due()) return;
        std::uint64_t refused = point.bad;
        // On Kafka the number is an offset, which counts more than the refusals.
        if (settings.backend == settings::Backend::kEmbedded)
          if (const auto now = RefusedSoFar(client); now.ok()) refused = now->number - refused_before->number;
        progress.Show({.done = point.bytes_read,
                       .all = point.bytes_total,
                       .counted = point.taken,
                       .bytes = true,
                       .refused = refused});
      },
      &summary);
  progress.Finish();
  Refusals refusals;
  if (summary.sent && !options.no_wait) {
    // Also if the source ended early: its good lines have been ingested.
    Status done = client.WaitIdle();
    if (done.ok()) {
      auto since = RefusedSince(client, *refused_before);
      done = since.status();
      if (since.ok()) refusals = std::move(*since);
      if (!options.follow) FindTheirLines(options, refusals);
    }
    if (status.ok()) status = std::move(done);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.as_json) {
    PrintJson(SummaryJson(ingest, summary, refusals, seconds));
  } else if (status.ok() || summary.lines > 0) {
    PrintSummary(ingest, summary, refusals, seconds);
  }
  std::fflush(stdout);
  if (!status.ok() && !interrupted) return ReportError(status);
  return summary.bad + refusals.total() > 0 ? kExitProblems : kExitOk;
}

// Waits for a quota (Client::SetWait); the reason is printed once.
class QuotaWait {
 public:
  // `stopped`: whether to give up; with `wait` it waits a moment for that.
  explicit QuotaWait(std::function<bool(bool wait)> stopped) : stopped_(std::move(stopped)) {}

  bool operator()(double seconds, const std::string& why) {
    if (!std::exchange(told_, true))
      std::fprintf(stderr, "%s; ingest continues at the speed of the quota\n", TerminalText(why).c_str());
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < until)
      if (stopped_(true)) return false;
    return true;
  }

 private:
  const std::function<bool(bool wait)> stopped_;
  bool told_ = false;
};

// Until a stop signal or an error.
int FollowFile(const IngestArguments& options, IngestOptions ingest, const settings::RunSettings& settings,
               Client& client, const StopSignals& signals) {
  std::atomic<bool> came = false;
  const auto stopped = [&](bool wait) {
    if (came || signals.pending()) return true;
    if (wait && signals.Wait() != 0) came = true;
    return came.load();
  };
  bool interrupted = false;
  client.SetWait([&, wait = QuotaWait(stopped)](double seconds, const std::string& why) mutable {
    interrupted = !wait(seconds, why);
    return !interrupted;
  });
  Feed feed(client, options.file, ingest.source, stopped,
            [](const std::string& warning) { std::fprintf(stderr, "%s\n", TerminalText(warning).c_str()); });
  int code = kExitOk;
  for (;;) {
    auto part = feed.Next();
    if (!part.ok()) return ReportError(part.status());
    if (!*part) return code;
    ingest.source = (*part)->source;
    if (!options.as_json)
      std::fprintf(stderr, "following %s as source %s\n", TerminalText((*part)->file->path()).c_str(),
                   TerminalText(ingest.source).c_str());
    const int one = IngestOne(options, ingest, settings, client, std::move((*part)->file), interrupted);
    if (one != kExitOk && one != kExitProblems) return one;
    code = std::max(code, one);
  }
}

int RunIngest(const IngestArguments& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  IngestOptions ingest{.file = options.file, .source = options.source, .project = ProjectId(options.project)};
  if (ingest.source.empty()) {
    std::filesystem::path path(options.file);
    if (!path.has_filename()) path = path.parent_path();  // a folder, with a trailing slash
    ingest.source = path.filename().string();
  }
  if (options.follow && (options.file == "-" || !options.format.empty() || options.lockstep))
    return ReportError(Status::InvalidArgument(
        "--follow requires the path of a file of events, and excludes --format and --lockstep"));
  if (options.source.empty() && options.file == "-") {
    return ReportError(Status::InvalidArgument(
        "standard input has no name that identifies the source: set one with --source NAME"));
  }
  if (options.lockstep) ingest.lockstep = true;
  std::unique_ptr<EventStream> events;
  std::optional<StopSignals> signals;
  if (options.follow) {
    signals.emplace();
  } else {
    auto opened = OpenSource(options);
    if (!opened.ok()) return ReportError(opened.status());
    events = std::move(*opened);
  }

  auto client = Client::Open(*settings, Purpose::kWork, ReportOpening);
  if (!client.ok()) return ReportError(client.status());
  if (!(*client)->remote()) {
    if (Status status = RememberPlace(*settings); !status.ok()) return ReportError(status);
  }
  (*client)->SetWait(QuotaWait([](bool) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return false;
  }));
  const int code = signals ? FollowFile(options, ingest, *settings, **client, *signals)
                           : IngestOne(options, ingest, *settings, **client, std::move(events), false);
  const Status closed = (*client)->Close();
  if (!closed.ok() && (code == kExitOk || code == kExitProblems)) return ReportError(closed);
  return code;
}

}  // namespace

void AddIngest(Program& program) {
  AddVerb<IngestArguments>(
      program, "ingest", "Ingests a file of events, exactly once",
      [](Verb& verb, IngestArguments& options) {
        verb.Add("FILE", options.file, "file of events (default: -, standard input)");
        AddDataPlace(verb, options.place);
        verb.Add(
                "--source", options.source,
                "name of the source, which identifies the file when it is sent again (default: the file's name)")
            .Type("NAME");
        verb.Add("--format", options.format,
                 "format that cannot be detected from the contents: trickle-xml, trickle messages as "
                 "stored by BOINC's scheduler (services/boinc/README.md); FILE can be a folder")
            .Type("NAME")
            .OneOf({kTrickleXml});
        verb.Add("--trickle-format", options.trickle_format,
                 "file with the meaning of the elements of trickle messages, such as examples/trickles.yaml "
                 "(default: ts is steps; cp, cpu_time and cputime are cpu_time; elapsed_time and "
                 "fraction_done keep their names; run_time and runtime are refused)")
            .Type("FILE");
        verb.Add("--host", options.host, "host of trickle messages, for files that contain only the body")
            .Type("H")
            .Positive();
        verb.Add("--received", options.received,
                 "arrival time of such messages, UNIX seconds (default: the modification time of the file)")
            .Type("TIME")
            .Positive();
        verb.Add("--variety", options.variety,
                 "variety of such messages, if the body does not contain the variety")
            .Type("NAME");
        verb.Add("--file-name", options.file_name,
                 "pattern of the file names of such messages, such as 'h{host}_{received}_{variety}.xml'; "
                 "{id} and * (any text) are also allowed")
            .Type("FORM");
        verb.Flag("--lockstep", options.lockstep,
                  "drain the pipeline at each tick and each catalogue change: the same grants as "
                  "`replay`, more slowly; always on for golden files");
        verb.Flag(
            "--follow", options.follow,
            "continue with a file that grows and is rotated, until SIGTERM or SIGINT; each rotated file "
            "is a source NAME@HASH of its own");
        verb.Flag("--no-wait", options.no_wait,
                  "return when all events are durable in the log, without waiting for the refusals");
        verb.Add("--project", options.project, "number of the project, for golden files and trickle messages")
            .Type("P")
            .ShowDefault();
        verb.Flag("--json", options.as_json, "print the summary, and the progress, as JSON");
        verb.Footer(
            "Events go to the running pipeline of the data directory. Without a running pipeline, the command opens\n"
            "the directory itself. Formats are detected from the contents: JSON Lines (one event a line, the JSON\n"
            "mapping of schemas/events.proto), length-delimited protobuf, and the golden format of tests/golden;\n"
            "each plain, gzip or zstd. Another file, such as a JSON array or an HTML page, is refused as a whole with exit\n"
            "code 2, and the message says what to do.\n\n"
            "If a file is sent again, only its new lines are ingested: the pipeline counts the lines of a source, and\n"
            "a hash over the lines detects changes. Run the command again after an interruption.\n"
            "Lines that are not events, and events that are refused, are reported with their line numbers and recorded\n"
            "(`cobblestone refused`). The exit code is then 1, although all other events were ingested.\n\n"
            "Examples:  cobblestone ingest events.jsonl.gz --config cobblestone.yaml\n"
            "           cobblestone ingest msg_from_host.tsv --format trickle-xml --trickle-format trickles.yaml\n"
            "           cobblestone ingest bodies/ --format trickle-xml --variety orig --file-name '{host}_{received}.xml'\n"
            "           cobblestone ingest /var/log/project/events.jsonl --follow --data /srv/cobblestone\n"
            "           zcat old/*.gz | cobblestone ingest --source history --data /srv/cobblestone");
      },
      RunIngest);
}

}  // namespace cobblestone::commands
