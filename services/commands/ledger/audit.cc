#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "services/audit/ledger_audit.h"
#include "services/cli/format.h"
#include "services/commands/command.h"
#include "services/kafka/audited_deployment.h"

namespace cobblestone::commands {

using audit::AuditLedger;
using cli::AuditText;
using cli::TerminalLines;
using kafka::OpenAudited;

namespace {

constexpr std::uint32_t kAnyAge = std::numeric_limits<std::uint32_t>::max();

struct AuditArguments {
  QueryOptions query;
  std::string scratch;
  bool since = false;
  std::uint32_t full_every = kAnyAge;

  // AuditOptions::since_days.
  [[nodiscard]] std::uint32_t since_days() const { return since ? full_every : 0; }
};

using Done = std::function<void(std::uint64_t done, std::uint64_t all)>;

Result<nlohmann::json> AskEngine(const settings::RunSettings& settings, const AuditArguments& options,
                                 const Done& progress) {
  auto client = Client::Open(settings, Purpose::kAsk, ReportOpening);
  if (!client.ok()) return client.status();
  return (*client)->AskLong(
      {.path = "/audit", .parameters = {{"since_days", std::to_string(options.since_days())}}}, progress);
}

// In this process: workers and topics stay unchanged.
Result<nlohmann::json> AuditKafka(const settings::RunSettings& settings, const AuditArguments& options,
                                  const Done& progress) {
  const std::string directory =
      options.scratch.empty() ? settings.data_directory + "/audit" : options.scratch;
  std::string restoring;
  std::optional<Progress> commits;
  const auto restore = [&](const std::string& slot, std::uint64_t done, std::uint64_t all) {
    if (restoring != slot) commits.emplace("commits of " + slot, options.query.json);
    restoring = slot;
    commits->Show({.done = done, .all = all, .counted = done});
  };
  const auto audited =
      OpenAudited(settings, {.directory = directory, .report = ReportOpening, .restoring = restore});
  if (!audited.ok()) return audited.status();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto report = AuditLedger(**audited, {.spill = {.directory = directory},
                                        .record = directory + "/audited",
                                        .at = std::chrono::duration<double>(now).count(),
                                        .since_days = options.since_days(),
                                        .progress = [&](std::uint64_t done, std::uint64_t all) {
                                          commits.reset();
                                          progress(done, all);
                                        }});
  if (!report.ok()) return report.status();
  return std::move(report->answer);
}

int RunAudit(const AuditArguments& options) {
  const auto settings = ProjectSettingsOf(options.query.place);
  if (!settings.ok()) return ReportError(settings.status());
  const bool on_kafka = settings->backend == settings::Backend::kKafka;
  if (!on_kafka && !options.scratch.empty())
    return ReportError(Status::InvalidArgument(
        "--scratch is for deployments on Kafka; the audit of a data directory uses that directory"));
  Progress progress("records", options.query.json);
  const auto show = [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  };
  auto answer = on_kafka ? AuditKafka(*settings, options, show) : AskEngine(*settings, options, show);
  progress.Finish();
  if (!answer.ok()) return ReportError(answer.status());
  if (options.query.json) {
    PrintJson(*answer);
  } else {
    std::fputs(TerminalLines(AuditText(*answer)).c_str(), stdout);
  }
  const auto problems = answer->find("problems");
  return problems != answer->end() && problems->empty() ? kExitOk : kExitProblems;
}

}  // namespace

void AddAudit(Program& program) {
  AddVerb<AuditArguments>(
      program, "audit", "Recomputes every grant and every total from the ledger, and compares the results",
      [](Verb& verb, AuditArguments& options) {
        AddQueryOptions(verb, options.query, false);
        verb.Flag(
            "--since", options.since,
            "continue from the last clean audit: read only later ledger records, add their sums to the sums of\n"
            "that audit, and compare the result with the totals. Without a clean audit, read everything");
        verb.Add("--full-every", options.full_every,
                 "with --since: read everything if the last full audit is older than this (default: never)")
            .Type("DAYS");
        verb.Add(
                "--scratch", options.scratch,
                "on Kafka: directory for the index of the ledger, which the next audit reuses, and for the state\n"
                "of one slot at a time (default: `audit` in the data directory)")
            .Type("DIR");
        verb.Footer(
            "Prints a list of the checks. Exit code 1: at least one number differs, even by one micro-credit.\n"
            "The pipeline and all workers may keep running. A clean audit writes a record to the data directory\n"
            "(on Kafka to the directory of --scratch). --since continues from this record.");
      },
      RunAudit);
}

}  // namespace cobblestone::commands
