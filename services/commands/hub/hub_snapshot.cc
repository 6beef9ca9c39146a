#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/thread.h"
#include "services/access/ingest.h"
#include "services/access/pipeline_state.h"
#include "services/cli/run_log.h"
#include "services/cli/schedule.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/events/event_file.h"
#include "services/hub/publish/combined_export.h"
#include "services/hub/publish/continuation.h"
#include "services/hub/publish/snapshot_job.h"
#include "services/hub/snapshot/archive.h"
#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/signature.h"
#include "services/hub/snapshot/verify.h"

namespace cobblestone::commands {

using access::Ingest;
using access::IngestSummary;
using access::PipelineState;
using cli::AwaitNext;
using cli::kExitBusy;
using cli::RunLog;
using cli::Schedule;
using cli::StopSignals;

namespace {

namespace fs = std::filesystem;

Status IsHub(const settings::RunSettings& settings) {
  if (settings.role == settings::Role::kHub) return Status::Ok();
  return Status::InvalidArgument("this configuration is not that of a federation hub: set role: hub");
}

// Snapshots are public, whatever the umask of this program; a directory that exists stays as it is.
Status MakePublicDirectory(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return Status::Ok();
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms(0755), error);
  return error ? Status::Unwritten(error.value(), "cannot create " + path + ": " + error.message())
               : Status::Ok();
}

// ---- new-key ----------------------------------------------------------------------------------------------

struct KeyOptions {
  std::string file;
};

int RunNewKey(const KeyOptions& options) {
  const auto key = hub::SigningKey::Create(options.file);
  if (!key.ok()) return ReportError(key.status());
  std::printf("public key %s\n", hub::ToHex(key->PublicKey()).c_str());
  return kExitOk;
}

// ---- snapshot ---------------------------------------------------------------------------------------------

struct SnapshotOptions {
  DataPlace place;
  std::string schedule;
  int nice = 15;
};

// A read meets a hub at work: a partition may be behind for some seconds.
constexpr auto kRetryEvery = std::chrono::seconds(2);
constexpr int kMostTries = 60;

struct Taken {
  std::unique_ptr<PipelineState> state;
  std::unique_ptr<hub::HubReader> reader;
};

Status Take(const settings::RunSettings& settings, Taken* taken) {
  auto state = PipelineState::Open(settings, ReportOpening);
  if (state.status().code() == StatusCode::kNotFound)
    return Status::NotFound(settings.backend == settings::Backend::kKafka
                                ? state.status().message() + ": the hub has never run"
                                : "there is no data directory " + settings.data_directory +
                                      ": the hub has never run");
  if (!state.ok()) return state.status();
  taken->state = std::move(*state);
  auto reader = hub::HubReader::Open(taken->state->state());
  if (!reader.ok()) return reader.status();
  taken->reader = std::move(*reader);
  return Status::Ok();
}

hub::SnapshotJob JobOf(const settings::SnapshotSettings& settings) {
  return {.directory = settings.directory,
          .hub = settings.hub,
          .consent = settings.consent,
          .continues = settings.continues};
}

Status WriteDay(const settings::SnapshotSettings& settings, const hub::SigningKey& key,
                const hub::HubReader& reader, const hub::HubAccounts& accounts) {
  const hub::SnapshotJob job = JobOf(settings);
  const auto published = hub::WriteSnapshot(reader, accounts, job, key);
  if (!published.ok()) return published.status();
  std::printf("snapshot %s: %s/%s\n", WithCommas(published->sequence).c_str(), settings.directory.c_str(),
              hub::DateOf(reader.time()).c_str());
  return hub::PruneSnapshots(settings.directory, settings.keep);
}

Status WriteFiles(const settings::SnapshotSettings& settings, const std::string& scratch,
                  const hub::HubReader& reader, const hub::HubAccounts& accounts) {
  const auto figures =
      hub::WriteCombined(reader, accounts, {.directory = settings.combined, .scratch = scratch});
  if (!figures.ok()) return figures.status();
  std::printf("combined export: %s: %s persons, %s teams, %s hosts\n", settings.combined.c_str(),
              WithCommas(figures->users).c_str(), WithCommas(figures->teams).c_str(),
              WithCommas(figures->hosts).c_str());
  return Status::Ok();
}

// One snapshot and one export, each if it is wanted. The export is not written if the snapshot fails.
Status SnapshotOnce(const settings::RunSettings& all, const std::optional<hub::SigningKey>& key) {
  const settings::SnapshotSettings& settings = all.snapshots;
  const std::string parent = fs::path(settings.combined).parent_path().string();
  const std::string scratch = !settings.directory.empty() ? settings.directory
                              : parent.empty()            ? "."
                                                          : parent;
  if (Status s = MakePublicDirectory(scratch); !s.ok()) return s;
  Taken taken;
  if (Status s = Take(all, &taken); !s.ok()) return s;
  if (key)  // what a crash has left takes room
    if (Status s = hub::PruneSnapshots(settings.directory, 0); !s.ok()) return s;
  bool wants_day = key.has_value();
  if (wants_day) {
    const std::string date = hub::DateOf(taken.reader->time());
    const auto has = hub::HasSnapshot(JobOf(settings), date);
    if (!has.ok()) return has.status();
    if (*has) std::printf("there is a snapshot of %s already\n", date.c_str());
    wants_day = !*has;
  }
  if (!wants_day && settings.combined.empty()) return Status::Ok();
  const auto accounts = hub::SortAccounts(*taken.reader, scratch);
  if (!accounts.ok()) return accounts.status();
  if (wants_day)
    if (Status s = WriteDay(settings, *key, *taken.reader, *accounts); !s.ok()) return s;
  return settings.combined.empty() ? Status::Ok() : WriteFiles(settings, scratch, *taken.reader, *accounts);
}

Status SnapshotPatiently(const settings::RunSettings& all, const std::optional<hub::SigningKey>& key,
                         const StopSignals* signals) {
  Status done = SnapshotOnce(all, key);
  for (int i = 1; i < kMostTries && done.code() == StatusCode::kRetry; ++i) {
    if (signals != nullptr && signals->pending()) break;
    std::this_thread::sleep_for(kRetryEvery);
    done = SnapshotOnce(all, key);
  }
  return done;
}

// Until a signal arrives. A failure is logged, and the next snapshot follows at its time, or soon if that may help.
int SnapshotAgain(const settings::RunSettings& all, const std::optional<hub::SigningKey>& key,
                  const std::string& when) {
  const auto schedule = Schedule::Parse(when);
  if (!schedule.ok()) return ReportError(schedule.status());
  const StopSignals signals;
  RunLog log(all.log);
  std::int64_t last = -1;
  int code = kExitOk;
  for (;;) {
    const auto next = AwaitNext(*schedule, last, code == kExitBusy, signals);
    if (!next) {
      log.Info("stopped");
      return kExitOk;
    }
    last = *next;
    const Status done = SnapshotPatiently(all, key, &signals);
    code = cli::ExitCodeOf(done);
    if (done.ok())
      log.Info("snapshot done");
    else
      log.Error(code == kExitBusy ? "snapshot failed; retrying in one minute"
                                  : "snapshot failed; waiting for the next scheduled one",
                {{"reason", done.message()}});
  }
}

int RunSnapshot(const SnapshotOptions& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (Status s = IsHub(*settings); !s.ok()) return ReportError(s);
  const settings::SnapshotSettings& wanted = settings->snapshots;
  if (wanted.directory.empty() && wanted.combined.empty())
    return ReportError(
        Status::InvalidArgument("nothing to write: set snapshots.directory or snapshots.combined"));
  std::optional<hub::SigningKey> key;
  if (!wanted.directory.empty()) {
    if (wanted.key_file.empty())
      return ReportError(Status::InvalidArgument(
          "snapshots.key_file is not set; `cobblestone hub new-key FILE` makes a key"));
    auto read = hub::SigningKey::Read("snapshots.key_file", wanted.key_file);
    if (!read.ok()) return ReportError(read.status());
    key.emplace(std::move(*read));
  }
  if (options.nice > 0) LowerThreadPriority(options.nice);
  if (!options.schedule.empty()) return SnapshotAgain(*settings, key, options.schedule);
  const Status done = SnapshotPatiently(*settings, key, nullptr);
  return done.ok() ? kExitOk : ReportError(done);
}

// ---- adopt-snapshot ---------------------------------------------------------------------------------------

struct AdoptOptions {
  DataPlace place;
  std::string directory;
  std::string key;
};

// The snapshot that the first one of this hub follows. A snapshot of the hub itself is in the way of another chain.
Status CopyIntoArchive(const std::string& from, const hub::Verdict& verdict, const std::string& archive) {
  if (Status s = MakePublicDirectory(archive); !s.ok()) return s;
  const auto names = hub::SnapshotsIn(archive);
  if (!names.ok()) return names.status();
  const std::string to = archive + "/" + verdict.manifest.date;
  std::error_code error;
  if (fs::exists(to, error) && fs::equivalent(from, to, error)) return Status::Ok();
  if (!names->empty()) {
    const auto there = hub::VerifySnapshot(archive + "/" + names->back(), {});
    if (there.ok() && there->sha256 == verdict.sha256) return Status::Ok();
    return Status::InvalidArgument(archive + " has snapshots of another chain; name an empty directory");
  }
  const std::string partial = to + ".partial";
  fs::remove_all(partial, error);
  fs::copy(from, partial, fs::copy_options::recursive, error);
  if (!error) fs::rename(partial, to, error);
  return error
             ? Status::Unwritten(error.value(), "cannot copy " + from + " to " + to + ": " + error.message())
             : Status::Ok();
}

Status CheckIsEmpty(const settings::RunSettings& settings,
                    const std::vector<hub::ContinuedProject>& projects) {
  const auto state = PipelineState::OpenCoordinator(settings, ReportOpening);
  if (state.status().code() == StatusCode::kNotFound) return Status::Ok();  // no data yet
  return state.ok() ? hub::CheckEmptyHub((*state)->state(), projects) : state.status();
}

Status SendContinuation(const settings::RunSettings& settings, const std::string& directory,
                        const hub::Verdict& verdict, const std::vector<hub::ContinuedProject>& projects,
                        hub::ContinuationFigures* figures) {
  auto client = Client::Open(settings, Purpose::kWork, ReportOpening);
  if (!client.ok()) return client.status();
  const std::string work = settings.data_directory + "/adopt-snapshot";
  std::error_code ignored;  // the file must not exist; WriteContinuation says if it does
  fs::remove_all(work, ignored);
  fs::create_directories(work, ignored);  // likewise
  const std::string file = work + "/events.pb";
  auto written = hub::WriteContinuation(directory, verdict.manifest, projects, file, work);
  if (!written.ok()) return written.status();
  *figures = *written;
  auto events = events::EventFile::Open(file, {});
  if (!events.ok()) return events.status();
  IngestSummary summary;
  Status sent = Ingest(**client, std::move(*events),
                       {.file = file, .source = "snapshot/" + hub::ToHex(verdict.sha256)}, {}, &summary);
  fs::remove_all(work, ignored);
  if (sent.ok() && summary.bad > 0)
    sent = Status::Fatal(std::to_string(summary.bad) + " events of the snapshot were refused");
  if (sent.ok()) sent = (*client)->WaitIdle();
  const Status closed = (*client)->Close();
  return sent.ok() ? closed : sent;
}

int RunAdoptSnapshot(const AdoptOptions& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (Status s = IsHub(*settings); !s.ok()) return ReportError(s);
  if (settings->snapshots.directory.empty())
    return ReportError(Status::InvalidArgument(
        "set snapshots.directory: the snapshot is copied there, and the next one continues it"));
  hub::VerifyOptions wanted{.previous = {}, .key = hub::FromHex(options.key)};
  if (!options.key.empty() && wanted.key.size() != 32)
    return ReportError(
        Status::InvalidArgument("--key: an Ed25519 public key has 64 lower-case hexadecimal digits"));
  const auto verdict = hub::VerifySnapshot(options.directory, wanted);
  if (!verdict.ok()) return ReportError(verdict.status());
  for (const std::string& problem : verdict->problems) std::printf("%s\n", TerminalText(problem).c_str());
  if (!verdict->problems.empty()) {
    std::printf("The snapshot is NOT intact; nothing was adopted.\n");
    return kExitProblems;
  }
  std::vector<hub::ConfiguredProject> configured;
  for (const settings::ProjectEntry& entry : settings->projects)
    configured.push_back({.number = entry.id, .name = entry.name, .url = entry.url});
  const auto projects = hub::NumberProjects(verdict->manifest, configured);
  if (Status s = CheckIsEmpty(*settings, projects); !s.ok()) return ReportError(s);
  if (Status s = CopyIntoArchive(options.directory, *verdict, settings->snapshots.directory); !s.ok())
    return ReportError(s);
  hub::ContinuationFigures figures;
  if (Status s = SendContinuation(*settings, options.directory, *verdict, projects, &figures); !s.ok())
    return ReportError(s);
  for (const hub::ContinuedProject& project : projects)
    std::printf("project %s: %s%s\n", std::to_string(project.number.value).c_str(),
                TerminalText(project.key).c_str(),
                project.configured ? "" : "; add it to `projects` of the configuration to collect from it");
  std::printf("adopted snapshot %s of %s: %s accounts, %s decisions about persons\n",
              WithCommas(verdict->manifest.sequence).c_str(), verdict->manifest.date.c_str(),
              WithCommas(figures.accounts).c_str(), WithCommas(figures.joined + figures.cut).c_str());
  return kExitOk;
}

}  // namespace

void AddHubSnapshots(Program& program, Verb& hub) {
  AddVerb<SnapshotOptions>(
      program, hub, "snapshot",
      "Writes the signed snapshot of the day, and statistics files over all projects",
      [](Verb& sub, SnapshotOptions& options) {
        AddDataPlace(sub, options.place);
        sub.Add(
               "--schedule", options.schedule,
               "again and again until SIGTERM: every day at a time (UTC) such as 23:30, or immediately and then\n"
               "at an interval such as 24h; a day that has a snapshot gets no second one")
            .Type("WHEN");
        sub.Add("--nice", options.nice,
                "nice value of the process, as in nice(1); a higher value yields more to other processes")
            .Type("N")
            .Between(0, 19)
            .ShowDefault();
        sub.Footer(
            "The settings `snapshots` say what is written and where. The date is that of the hub's time (ticks). The\n"
            "hub may run; everything is as of the last complete edition of each project. docs/design/snapshot.md\n"
            "describes the files.\n\n"
            "Examples:  cobblestone hub snapshot --config hub.yaml\n"
            "           cobblestone hub snapshot --config hub.yaml --schedule 23:30");
      },
      RunSnapshot);
  AddVerb<KeyOptions>(
      program, hub, "new-key", "Makes an Ed25519 key that signs snapshots, in a private file",
      [](Verb& sub, KeyOptions& options) {
        sub.Add("FILE", options.file, "the new file").Required();
        sub.Footer(
            "Prints the public key, which readers of snapshots pass to `verify-snapshot --key`. Whoever has the file\n"
            "can sign snapshots in the name of this hub.\n\n"
            "Example:  cobblestone hub new-key /etc/cobblestone/hub-key.pem");
      },
      RunNewKey);
  AddVerb<AdoptOptions>(
      program, hub, "adopt-snapshot",
      "Loads a snapshot of another hub into an empty hub, which continues from it",
      [](Verb& sub, AdoptOptions& options) {
        sub.Add("DIR", options.directory, "directory of the snapshot").Required();
        AddDataPlace(sub, options.place);
        sub.Add("--key", options.key, "public key that must have signed the snapshot, in hexadecimal")
            .Type("KEY");
        sub.Footer(
            "Verifies the snapshot first. A project of the configuration keeps its number; others get free ones, which\n"
            "are printed. The next `hub snapshot` continues the chain; set snapshots.continues to the reason. Days and\n"
            "earlier ids are not in a snapshot (docs/design/snapshot.md). May be repeated after an interruption.\n\n"
            "Example:  cobblestone hub adopt-snapshot 2026-11-27 --config hub.yaml");
      },
      RunAdoptSnapshot);
}

}  // namespace cobblestone::commands
