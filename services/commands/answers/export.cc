#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/thread.h"
#include "services/access/pipeline_state.h"
#include "services/audit/control_totals.h"
#include "services/cli/run_log.h"
#include "services/cli/schedule.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/export/entities_file.h"
#include "services/export/export_job.h"
#include "services/export/state/state_source.h"

namespace cobblestone::commands {

using access::PipelineState;
using audit::Reconcile;
using cli::AwaitNext;
using cli::kExitBusy;
using cli::RunLog;
using cli::Schedule;
using cli::StopSignals;
using exports::StateSource;
using ledger::StateSnapshot;

namespace {

struct ExportArguments {
  DataPlace place;
  std::uint32_t project = 1;
  std::string entities;
  std::string spec;
  std::vector<std::string> settings;
  bool strict_xml = false;
  std::int64_t now = -1;
  exports::ExportJob job;
  int nice = 15;
  std::string schedule;
  std::string read;
  std::vector<std::string> then;
  bool json = false;
};

void Warn(const std::string& what) { std::fprintf(stderr, "cobblestone: %s\n", TerminalText(what).c_str()); }

nlohmann::json OutputsJson(const std::vector<exports::OutputFigures>& outputs) {
  nlohmann::json json = nlohmann::json::array();
  for (const exports::OutputFigures& output : outputs)
    json.push_back({{"name", output.name},
                    {"records", output.totals.records},
                    {"total_credit", exports::CreditText(output.totals.credit)},
                    {"records_hash", exports::HashText(output.totals.hash)},
                    {"written", output.changed},
                    {"removed", output.removed}});
  return json;
}

void PrintOutputs(const std::vector<exports::OutputFigures>& outputs, bool incremental) {
  for (const exports::OutputFigures& output : outputs) {
    std::printf("%-20s %14s records", output.name.c_str(), WithCommas(output.totals.records).c_str());
    if (output.totals.credit != 0)
      std::printf("  %s Cobblestones", exports::CreditText(output.totals.credit).c_str());
    if (incremental)
      std::printf("  (%s written, %s removed)", WithCommas(output.changed).c_str(),
                  WithCommas(output.removed).c_str());
    std::printf("\n");
  }
}

int Read(const ExportArguments& options) {
  std::vector<std::string> directories = {options.read};
  directories.insert(directories.end(), options.then.begin(), options.then.end());
  Progress progress("files", options.json);
  std::uint64_t files = 0;
  const auto outcome = exports::ReadBack(directories, [&](const std::string&) {
    ++files;
    progress.Show({.done = files, .counted = files});
  });
  progress.Finish();
  if (!outcome.ok()) return ReportError(outcome.status());
  if (options.json) {
    PrintJson({{"outputs", OutputsJson(outcome->outputs)}, {"differences", outcome->differences}});
  } else {
    PrintOutputs(outcome->outputs, false);
    for (const std::string& difference : outcome->differences)
      std::printf("DIFFERS: %s\n", difference.c_str());
    if (outcome->differences.empty())
      std::printf("all files have the checksums of their manifests, and all outputs match when read back\n");
  }
  return outcome->differences.empty() ? kExitOk : kExitProblems;
}

// The rows and their source.
struct From {
  std::unique_ptr<PipelineState> state;  // null: a file
  std::unique_ptr<exports::Source> source;
};

Status OpenFile(const ExportArguments& options, const exports::Settings& settings, From* from) {
  Progress finding("bytes", options.json);
  auto entities = exports::EntitiesFile::Open(options.entities,
                                              {.statsexport_enabled = settings.statsexport_enabled,
                                               .progress = [&](std::uint64_t done, std::uint64_t all) {
                                                 finding.Show({.done = done, .all = all, .counted = done});
                                               }});
  finding.Finish();
  if (!entities.ok()) return entities.status();
  for (const std::string& section : (*entities)->unknown_sections())
    Warn(options.entities + ": unknown section '" + section + "'; the section is ignored");
  from->source = std::move(*entities);
  return Status::Ok();
}

// Compares the accounts with the sums of the ledger. The sums continue from the last export; if they differ,
// the whole ledger is read again and decides.
Result<exports::LedgerTotals> ControlTotals(const ExportArguments& options, From* from,
                                            const StateSnapshot& snapshot) {
  const auto attempt = [&](bool from_start) -> Result<exports::LedgerTotals> {
    Progress reading("records of the ledger", options.json);
    auto sums =
        from->state->SumLedger(snapshot.places, from_start, [&](std::uint64_t done, std::uint64_t all) {
          reading.Show({.done = done, .all = all, .counted = done});
        });
    if (!sums.ok()) return sums.status();
    return Reconcile(snapshot, ProjectId(options.project), *sums);
  };
  auto totals = attempt(false);
  if (totals.ok() || totals.status().code() != StatusCode::kCorrupted) return totals;
  Warn("the stored sums of the ledger do not match; reading the whole ledger");
  return attempt(true);
}

// A mistyped number would publish empty files in place of a project's.
Status CheckProject(const ExportArguments& options, const settings::RunSettings& settings,
                    const StateSource& source) {
  const exports::RowCounts rows = source.RowsExpected();
  if (source.projects().contains(options.project) || rows.users + rows.teams + rows.hosts > 0)
    return Status::Ok();
  std::set<std::uint32_t> known = source.projects();
  for (const settings::ProjectEntry& entry : settings.projects) known.insert(entry.id.value);
  if (known.empty() || known.contains(options.project)) {
    Warn("no events of project " + std::to_string(options.project) + " have been processed yet");
    return Status::Ok();
  }
  std::string list;
  for (const std::uint32_t id : known) list += (list.empty() ? "" : ", ") + std::to_string(id);
  return Status::NotFound("there is no project " + std::to_string(options.project) + "; known projects: " +
                          list + ". Set --project to one of them. Nothing was written");
}

Status OpenPipeline(const ExportArguments& options, const exports::Settings& settings, From* from,
                    exports::ExportJob* job) {
  const auto place = ProjectSettingsOf(options.place);
  if (!place.ok()) return place.status();
  auto state = PipelineState::Open(*place, ReportOpening);
  if (!state.ok()) return state.status();
  from->state = std::move(*state);
  auto source = StateSource::Open(
      from->state->state(),
      {.project = ProjectId(options.project), .statsexport_enabled = settings.statsexport_enabled});
  if (!source.ok()) return source.status();
  if (Status s = CheckProject(options, *place, **source); !s.ok()) return s;
  auto totals = ControlTotals(options, from, (*source)->snapshot());
  if (!totals.ok()) return totals.status();
  job->ledger = std::move(*totals);
  from->source = std::move(*source);
  return Status::Ok();
}

int Export(const ExportArguments& options) {
  auto settings = exports::ParseSettings(options.settings);
  if (!settings.ok()) return ReportError(settings.status());
  settings->strict_xml = options.strict_xml;
  const auto spec = exports::LoadSpec(options.spec);
  if (!spec.ok()) return ReportError(spec.status());
  exports::ExportJob job = options.job;
  job.settings = *settings;
  job.now = options.now >= 0 ? options.now
                             : std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count();
  From from;
  if (Status s = options.entities.empty() ? OpenPipeline(options, *settings, &from, &job)
                                          : OpenFile(options, *settings, &from);
      !s.ok())
    return ReportError(s);
  Progress writing("rows", options.json);
  job.progress = [&](std::uint64_t done, std::uint64_t all) {
    writing.Show({.done = done, .all = all, .counted = done});
  };
  job.warn = [&](const std::string& what) {
    writing.Finish();
    Warn(what);
  };
  const auto outcome = exports::RunExport(*from.source, *spec, job);
  writing.Finish();
  if (!outcome.ok()) return ReportError(outcome.status());
  if (options.json) {
    PrintJson({{"directory", outcome->directory},
               {"old_directory", outcome->old_directory},
               {"outputs", OutputsJson(outcome->manifest.outputs)}});
    return kExitOk;
  }
  PrintOutputs(outcome->manifest.outputs, outcome->manifest.base.has_value());
  std::printf("published as %s", outcome->directory.c_str());
  if (!outcome->old_directory.empty())
    std::printf("; the previous export is now %s", outcome->old_directory.c_str());
  std::printf("\n");
  return kExitOk;
}

// Exports until a signal arrives. A failed export is logged, and the next one follows: at its scheduled time,
// or soon if this may help (a host was moving between partitions). Errors in the options are reported at
// once, not at the first scheduled time.
int Again(const ExportArguments& options) {
  const auto schedule = Schedule::Parse(options.schedule);
  if (!schedule.ok()) return ReportError(schedule.status());
  if (const auto settings = exports::ParseSettings(options.settings); !settings.ok())
    return ReportError(settings.status());
  if (const auto spec = exports::LoadSpec(options.spec); !spec.ok()) return ReportError(spec.status());
  const StopSignals signals;
  RunLog log({});
  std::int64_t last = -1;
  int code = kExitOk;
  for (;;) {
    const auto next = AwaitNext(*schedule, last, code == kExitBusy, signals);
    if (!next) {
      log.Info("stopped");
      return kExitOk;
    }
    last = *next;
    code = Export(options);
    if (code == kExitOk) {
      log.Info("exported");
    } else {
      log.Error(code == kExitBusy ? "export failed; retrying in one minute"
                                  : "export failed; waiting for the next scheduled export",
                {{"exit_code", code}});
    }
  }
}

int RunExport(const ExportArguments& options) {
  if (options.nice > 0) LowerThreadPriority(options.nice);
  if (!options.read.empty()) return Read(options);
  if (options.spec.empty())
    return ReportError(Status::InvalidArgument(
        "set --spec to the outputs to export, or --read to the directory to read back"));
  return options.schedule.empty() ? Export(options) : Again(options);
}

}  // namespace

void AddExport(Program& program) {
  AddVerb<ExportArguments>(
      program, "export", "Writes statistics files in the format of BOINC's db_dump",
      [](Verb& verb, ExportArguments& options) {
        AddDataPlace(verb, options.place);
        verb.Add("--project", options.project, "number of the project").Type("P").ShowDefault();
        verb.Add("--entities", options.entities,
                 "file of entities (users, hosts, teams and all other tables) as JSON, instead of a pipeline")
            .Type("FILE");
        verb.Add("--spec", options.spec, "specification of the outputs: a db_dump.xml").Type("FILE");
        verb.Add("--setting", options.settings,
                 "a setting of the project's configuration: user_country, user_url (both default to 1), "
                 "credit_by_app, statsexport_enabled; repeatable")
            .Type("NAME=0|1")
            .OneEach();
        verb.Flag("--strict-xml", options.strict_xml,
                  "write well-formed XML where BOINC's output is ill-formed");
        verb.Add("--now", options.now, "time in the files, UNIX seconds (default: the current time)")
            .Type("T");
        verb.Add("--out", options.job.out, "output directory (default: the spec's <final_output_dir>)")
            .Type("DIR");
        verb.Add("--archive", options.job.archive,
                 "directory for the previous export (default: the spec's <archive_dir>, or beside --out)")
            .Type("DIR");
        verb.Flag("--delete-old", options.job.delete_old,
                  "delete the previous export instead of renaming it");
        verb.Add("--threads", options.job.threads,
                 "threads that write and compress; the output does not depend on the number")
            .Type("N")
            .Between(1, 64)
            .ShowDefault();
        verb.Add("--nice", options.nice,
                 "nice value of the process, as in nice(1); a higher value yields more to other processes")
            .Type("N")
            .Between(0, 19)
            .ShowDefault();
        verb.Add("--incremental-from", options.job.incremental_from,
                 "write only the changes since this export; to continue incremental exports, list the "
                 "full export and all incremental exports in order: FULL FIRST SECOND")
            .Type("DIR...");
        verb.Add(
                "--schedule", options.schedule,
                "export repeatedly until SIGTERM: every day at a time (UTC) such as 03:30, or immediately and\n"
                "then at an interval such as 24h, 30m, 90s")
            .Type("WHEN")
            .Excludes("--now");
        verb.Add("--read", options.read, "read an export back and compare the files with the manifest")
            .Type("DIR");
        verb.Add("--then", options.then, "incremental exports that follow --read, in order").Type("DIR...");
        verb.Flag("--json", options.json, "print the summary as JSON");
        verb.Footer(
            "All files appear at once: the export is written to DIR.partial, then exchanged with the previous\n"
            "export. The previous export gets a name with the time. manifest.json has the checksums of the files\n"
            "and the sums of all records; docs/guides/statistics-files.md describes the manifest.\n"
            "Exit code 1: --read found a difference.\n\n"
            "While a pipeline runs, the export uses a snapshot of its state, some seconds old, and does not block\n"
            "the pipeline.\n\n"
            "Examples:  cobblestone export --config cobblestone.yaml --spec db_dump.xml --out html/stats\n"
            "           cobblestone export --config cobblestone.yaml --spec db_dump.xml --out html/stats_new \\\n"
            "               --incremental-from html/stats\n"
            "           cobblestone export --config cobblestone.yaml --spec db_dump.xml --out html/stats --schedule 03:30\n"
            "           cobblestone export --read html/stats --then html/stats_new");
      },
      RunExport);
}

}  // namespace cobblestone::commands
