#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/access/ingest.h"
#include "services/access/refusals.h"
#include "services/adoption/adoption.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using access::Ingest;
using access::IngestOptions;
using access::IngestPoint;
using access::IngestSummary;
using access::PrintRefusals;
using access::Refusals;
using access::RefusalsJson;
using access::RefusedSince;
using access::RefusedSoFar;

namespace {

using nlohmann::json;

struct AdoptArguments {
  DataPlace place;
  std::string file;
  std::string source;
  std::uint32_t project = 1;
  adoption::Options adoption;
  bool dry_run = false;
  bool as_json = false;
};

// Totals that were read and sent, and the totals of the pipeline afterwards.
struct Outcome {
  adoption::Survey survey;
  IngestSummary sent;
  Refusals refusals;
  json read;  // totals
  json then;  // likewise; null: not requested
  json difference = json::object();
};

void Warn(const std::string& what) { std::fprintf(stderr, "cobblestone: %s\n", TerminalText(what).c_str()); }

json OutcomeJson(const AdoptArguments& options, const Outcome& outcome) {
  const adoption::Survey& survey = outcome.survey;
  json answer = {{"project", options.project},
                 {"dry_run", options.dry_run},
                 {"events", survey.events},
                 {"statistics",
                  {{"host_versions", survey.host_versions},
                   {"app_versions", survey.app_versions},
                   {"apps", survey.apps}}},
                 {"missing",
                  {{"owners", survey.owners_missing},
                   {"hosts_of_nobody", survey.hosts_of_nobody},
                   {"founders", survey.founders_missing},
                   {"teams", survey.teams_missing}}},
                 {"read", outcome.read}};
  if (options.dry_run) return answer;
  answer["source"] = options.source;
  answer["known_before"] = outcome.sent.known;
  answer["taken_in"] = outcome.sent.events;
  answer["refused"] = outcome.refusals.total();
  answer["refused_events"] = RefusalsJson(outcome.refusals);
  answer["pipeline"] = outcome.then;
  answer["difference"] = outcome.difference;
  return answer;
}

void PrintLine(const std::string& kind, const char* whose, const json& totals) {
  std::printf("%-6s %-11s %14s %28s %24s\n", kind.c_str(), whose,
              WithCommas(totals.value("accounts", std::uint64_t{0})).c_str(),
              totals.value("credit", std::string()).c_str(), totals.value("rac", std::string()).c_str());
}

void PrintTotals(const Outcome& outcome) {
  std::printf("%-6s %-11s %14s %28s %24s\n", "", "", "accounts", "opening, Cobblestones", "RAC, per day");
  for (const char* kind : {"users", "teams", "hosts"}) {
    PrintLine(kind, "read", outcome.read[kind]);
    if (outcome.then.is_null()) continue;
    PrintLine("", "pipeline", outcome.then[kind]);
    const json none = json::object();
    const json& differs = outcome.difference.contains(kind) ? outcome.difference[kind] : none;
    const auto accounts = [&](const json& totals) {
      return static_cast<std::int64_t>(totals.value("accounts", std::uint64_t{0}));
    };
    std::printf("%-6s %-11s %14" PRId64 " %28s %24s\n", "", "difference",
                accounts(outcome.then[kind]) - accounts(outcome.read[kind]),
                differs.value("credit", std::string("0.000000")).c_str(),
                differs.value("rac", std::string("0.000000")).c_str());
    for (const auto& [field, value] : differs.items()) {
      if (field == "profiles" || field == "no_balance" || field == "figures")
        std::printf("%-6s DIFFERS: %s: read %s, pipeline %s\n", "", field.c_str(),
                    outcome.read[kind][field].dump().c_str(), value.dump().c_str());
    }
  }
}

void PrintNotes(const adoption::Survey& survey) {
  const auto note = [](std::uint64_t count, const char* what) {
    if (count > 0) std::printf("%s %s\n", WithCommas(count).c_str(), what);
  };
  const adoption::Totals& totals = survey.totals;
  note(totals.users.no_balance + totals.teams.no_balance + totals.hosts.no_balance,
       "totals are not valid balances (below 0, or 9.2e12 Cobblestones or more): these "
       "accounts open with 0, and statistics files show the totals of the file");
  note(survey.owners_missing,
       "hosts belong to users without a row: new grants of these hosts wait for the user's "
       "event, and are posted only to the host after the window");
  note(survey.hosts_of_nobody, "hosts have no owner (userid 0)");
  note(survey.teams_missing, "users are in teams without a row");
  note(survey.founders_missing, "teams have founders without a row");
  if (survey.host_versions + survey.app_versions + survey.apps > 0)
    std::printf("statistics rows: %s of hosts and versions, %s of versions, %s of apps\n",
                WithCommas(survey.host_versions).c_str(), WithCommas(survey.app_versions).c_str(),
                WithCommas(survey.apps).c_str());
}

void Print(const AdoptArguments& options, const Outcome& outcome) {
  PrintTotals(outcome);
  PrintNotes(outcome.survey);
  if (options.dry_run) {
    std::printf("dry run: %s events would be sent; no events were sent\n",
                WithCommas(outcome.survey.events).c_str());
    return;
  }
  if (outcome.sent.lines == 0)
    std::printf("no new events: all %s events were already ingested\n",
                WithCommas(outcome.survey.events).c_str());
  else
    std::printf("%s of %s events ingested%s\n", WithCommas(outcome.sent.events).c_str(),
                WithCommas(outcome.survey.events).c_str(),
                outcome.sent.known > 0 ? "; the other events were already ingested" : "");
  PrintRefusals(outcome.refusals);
  std::printf("%s\n", outcome.difference.empty()
                          ? "the pipeline's totals equal the totals that were read; the difference is 0"
                          : "THE PIPELINE'S TOTALS DIFFER FROM THE TOTALS THAT WERE READ");
}

Result<std::unique_ptr<exports::EntitiesFile>> OpenFile(const AdoptArguments& options) {
  Progress finding("bytes", options.as_json);
  auto entities = exports::EntitiesFile::Open(
      options.file, {.statsexport_enabled = {}, .progress = [&](std::uint64_t done, std::uint64_t all) {
                       finding.Show({.done = done, .all = all, .counted = done});
                     }});
  finding.Finish();
  if (entities.ok())
    for (const std::string& section : (*entities)->unknown_sections())
      Warn(options.file + ": unknown section '" + section + "'; the section is ignored");
  return entities;
}

Status Send(Client& client, const AdoptArguments& options, exports::EntitiesFile& entities,
            Outcome* outcome) {
  const auto refused_before = RefusedSoFar(client);
  if (!refused_before.ok()) return refused_before.status();
  IngestOptions ingest{.file = options.file, .source = options.source};
  ingest.changed = options.file + " differs from the file that was adopted under the name '" +
                   options.source +
                   "': the file, --statistics, --project and --time must be the same, and only rows of "
                   "deleted hosts and statistics rows may have been appended. No events were ingested. A "
                   "project is adopted once; send later changes as events (`cobblestone ingest`)";
  Progress sending("events", options.as_json);
  Status status = Ingest(
      client, adoption::StreamOf(entities, options.adoption, outcome->survey.events), ingest,
      [&](const IngestPoint& point) {
        sending.Show({.done = point.bytes_read, .all = point.bytes_total, .counted = point.taken});
      },
      &outcome->sent);
  sending.Finish();
  if (status.ok() && outcome->sent.shorter) status = Status::InvalidArgument(ingest.changed);
  if (status.ok()) status = client.WaitIdle();
  if (!status.ok()) return status;
  auto refusals = RefusedSince(client, *refused_before);
  if (!refusals.ok()) return refusals.status();
  outcome->refusals = std::move(*refusals);
  auto then = client.Ask({.path = "/adopted", .parameters = {{"project", std::to_string(options.project)}}});
  if (!then.ok()) return then.status();
  outcome->then = std::move(*then);
  outcome->difference = adoption::DifferenceOf(outcome->read, outcome->then);
  return Status::Ok();
}

// An adoption under a wrong project number cannot be undone.
Status CheckProject(const settings::RunSettings& settings, std::uint32_t project) {
  std::string known;
  for (const settings::ProjectEntry& entry : settings.projects) {
    if (entry.id.value == project) return Status::Ok();
    known += (known.empty() ? "" : ", ") + std::to_string(entry.id.value) + " (" + entry.name + ")";
  }
  if (settings.projects.empty()) return Status::Ok();
  return Status::InvalidArgument(
      "the configuration has no project " + std::to_string(project) + ", but " + known +
      "; set --project to one of them, or add the project to `projects` in the configuration");
}

int RunAdopt(const AdoptArguments& given) {
  AdoptArguments options = given;
  options.adoption.project = ProjectId(options.project);
  if (options.source.empty()) options.source = std::filesystem::path(options.file).filename().string();
  const auto settings = ProjectSettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (Status s = CheckProject(*settings, options.project); !s.ok()) return ReportError(s);
  auto entities = OpenFile(options);
  if (!entities.ok()) return ReportError(entities.status());
  Outcome outcome;
  {
    Progress looking("rows checked", options.as_json);
    auto survey = adoption::LookAt(**entities, options.adoption, [&](std::uint64_t events) {
      looking.Show({.done = events, .all = 0, .counted = events});
    });
    looking.Finish();
    if (!survey.ok()) return ReportError(survey.status());
    outcome.survey = *survey;
  }
  outcome.read = adoption::TotalsJson(outcome.survey.totals);
  Status status;
  if (!options.dry_run) {
    auto client = Client::Open(*settings, Purpose::kWork, ReportOpening);
    if (!client.ok()) return ReportError(client.status());
    if (!(*client)->remote()) status = RememberPlace(*settings);
    if (status.ok()) status = Send(**client, options, **entities, &outcome);
    const Status closed = (*client)->Close();
    if (status.ok()) status = closed;
  }
  if (!status.ok()) return ReportError(status);
  if (options.as_json)
    PrintJson(OutcomeJson(options, outcome));
  else
    Print(options, outcome);
  return outcome.refusals.total() > 0 || !outcome.difference.empty() ? kExitProblems : kExitOk;
}

}  // namespace

void AddAdopt(Program& program) {
  AddVerb<AdoptArguments>(
      program, "adopt", "Adopts the accounts and balances of an existing project",
      [](Verb& verb, AdoptArguments& options) {
        verb.Add("FILE", options.file, "file of entities: users, hosts, teams and all other tables, as JSON")
            .Required();
        AddDataPlace(verb, options.place);
        verb.Add("--statistics", options.adoption.statistics,
                 "file of statistics rows of hosts, versions and apps, as JSON Lines; without it, credit can "
                 "jump on the first day")
            .Type("FILE");
        verb.Add("--project", options.project, "number of the project").Type("P").Positive().ShowDefault();
        verb.Add("--time", options.adoption.time,
                 "event time of all adopted rows, UNIX seconds; 0: before all other events")
            .Type("T")
            .NotNegative()
            .ShowDefault();
        verb.Add("--source", options.source,
                 "name of the source, which identifies the file when it is sent again (default: the "
                 "file's name)")
            .Type("NAME");
        verb.Flag("--dry-run", options.dry_run, "read, check and count the rows; send no events");
        verb.Flag("--json", options.as_json, "print the summary as JSON, without progress");
        verb.Footer(
            "Events go to the running pipeline of the data directory, or to Kafka, as with `ingest`. Without a\n"
            "running pipeline, the command opens the directory itself. The whole file is checked before the first\n"
            "event is sent. Run the command again after an interruption; after a complete adoption, the command\n"
            "changes nothing. Every total is then the adopted total plus all later grants, and `audit` checks both\n"
            "parts. docs/operations/adoption.md describes the formats and the handling of unusual rows.\n"
            "Exit code 1: events were refused, or the pipeline's totals differ from the file's totals.\n\n"
            "Examples:  cobblestone adopt all.json --dry-run\n"
            "           cobblestone adopt all.json --statistics rows.jsonl --config cobblestone.yaml");
      },
      RunAdopt);
}

}  // namespace cobblestone::commands
