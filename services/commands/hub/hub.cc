#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "common/federation/identity/ownership_proof.h"
#include "common/stream/embedded/lock_file.h"
#include "services/access/ingest.h"
#include "services/access/refusals.h"
#include "services/cli/run_log.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/events/event_file.h"
#include "services/hub/collector/collector.h"
#include "services/hub/feeds/feed_text.h"
#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/compare.h"
#include "services/hub/snapshot/verify.h"

namespace cobblestone::commands {

using access::Ingest;
using access::IngestSummary;
using access::Refusals;
using cli::RunLog;
using cli::StopSignals;
using events::EventFile;

namespace {

struct CollectOptions {
  DataPlace place;
  bool once = false;
  bool private_addresses = false;
  std::string ca_file;
};

double WallNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// 0: not set.
double SecondsOf(const std::optional<settings::Duration>& duration) {
  return duration ? std::chrono::duration<double>(*duration).count() : 0.0;
}

// The directory of the collector, with room for its lock.
Result<std::string> FeedsDirectory(const settings::RunSettings& settings) {
  if (settings.role != settings::Role::kHub)
    return Status::InvalidArgument("this configuration is not that of a federation hub: set role: hub");
  return settings.data_directory + "/feeds";
}

constexpr unsigned kWaitingProjects = 6;  // for their servers or for the hub, while all cores work for others
constexpr std::size_t kLongestKey = 8192;    // bytes, of a public key in PEM form
constexpr std::size_t kLongestDetail = 200;  // bytes, of why the hub refused an event

Result<std::vector<hub::CollectedProject>> CollectedOf(const settings::RunSettings& settings) {
  std::vector<hub::CollectedProject> projects;
  for (const settings::ProjectEntry& entry : settings.projects) {
    if (entry.url.empty() && entry.statistics.empty()) continue;
    hub::CollectedProject project{.id = entry.id,
                                  .name = entry.name,
                                  .url = entry.url,
                                  .statistics = entry.statistics,
                                  .points_per_cobblestone = entry.points_per_cobblestone,
                                  .points_since = entry.points_since,
                                  .erase_after = SecondsOf(entry.erase_after),
                                  .shared_accounts = entry.shared_accounts,
                                  .account_manager = entry.account_manager,
                                  .fetch_time = SecondsOf(entry.fetch_time)};
    if (!entry.ownership_key.empty()) {
      std::ifstream file(entry.ownership_key, std::ios::binary);
      project.ownership_key.assign(std::istreambuf_iterator<char>(file), {});
      const std::string place =
          entry.ownership_key_place + ": projects.ownership_key: " + entry.ownership_key + ": ";
      if (!file)
        return Status::InvalidArgument(place +
                                       "the file cannot be read; allowed: a file with the project's "
                                       "public key (PEM), which this user may read");
      if (project.ownership_key.size() > kLongestKey)
        return Status::InvalidArgument(place + "more than " + std::to_string(kLongestKey) +
                                       " bytes; allowed: a public key (PEM)");
      if (Status s = federation::CheckOwnershipKey(project.ownership_key); !s.ok())
        return Status::InvalidArgument(place + s.message());
    }
    projects.push_back(std::move(project));
  }
  return projects;
}

// "3 events: FROM_THE_FUTURE 3, the first because: time ...".
std::string ReasonsOf(const Refusals& refusals) {
  std::string text = std::to_string(refusals.all) + (refusals.all == 1 ? " event:" : " events:");
  const char* separator = " ";
  for (const auto& [reason, count] : refusals.by_reason) {
    text += separator + reason + " " + std::to_string(count);
    separator = ", ";
  }
  if (!refusals.first.empty()) {
    std::string detail = refusals.first.front().value("detail", "");
    hub::CutUtf8(kLongestDetail, &detail);
    if (!detail.empty()) text += ", the first because: " + detail;
  }
  return text;
}

// Sends each file to the pipeline, running or not, and counts what the hub accepted and refused.
class CollectIntake final : public hub::HubIntake {
 public:
  CollectIntake(Client& client, RunLog& log) : client_(client), log_(log) {}

  Result<std::uint64_t> RefusedSoFar() override {
    const auto point = access::RefusedSoFar(client_);
    if (!point.ok()) return point.status();
    return point->number;
  }
  Result<hub::SentEvents> Send(ProjectId project, const std::string& source, const std::string& file,
                               std::uint64_t refused_from) override {
    auto events = EventFile::Open(file, {});
    if (!events.ok()) return events.status();
    IngestSummary summary;
    if (Status s = Ingest(client_, std::move(*events), {.file = file, .source = source}, {}, &summary);
        !s.ok())
      return s;
    if (Status s = client_.WaitIdle(); !s.ok()) return s;
    const auto refusals = access::RefusedSince(client_, {.number = refused_from, .since = {}}, project);
    if (!refusals.ok()) return refusals.status();
    // Of a file whose first sending was interrupted, what was refused then counts as well.
    const std::uint64_t accepted = summary.events - std::min(summary.events, refusals->all);
    accepted_ += accepted;
    refused_ += refusals->all;
    if (accepted > 0) log_.Info("sent", {{"source", source}, {"events", accepted}});
    if (refusals->all == 0) return hub::SentEvents{};
    log_.Warn("refused by the hub", {{"source", source}, {"events", refusals->all}});
    return hub::SentEvents{.refused = refusals->all,
                           .edition_refused = refusals->by_kind.contains("feed_edition"),
                           .reasons = ReasonsOf(*refusals)};
  }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  Client& client_;
  RunLog& log_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

int RunCollect(const CollectOptions& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  const auto directory = FeedsDirectory(*settings);
  if (!directory.ok()) return ReportError(directory.status());
  auto projects = CollectedOf(*settings);
  if (!projects.ok()) return ReportError(projects.status());
  hub::CollectorOptions wanted{
      .directory = *directory,
      .projects = std::move(*projects),
      .fetcher = {.ca_file = options.ca_file, .private_addresses = options.private_addresses},
      .threads = std::max(1u, std::thread::hardware_concurrency()) + kWaitingProjects,
      .once = options.once};
  if (wanted.projects.empty())
    return ReportError(Status::InvalidArgument(
        "no project to collect from: set `url` or `statistics` of an entry in `projects`"));
  const StopSignals signals;
  RunLog log(settings->log);
  auto client = Client::Open(*settings, Purpose::kWork, ReportOpening);
  if (!client.ok()) return ReportError(client.status());
  std::error_code error;
  std::filesystem::create_directories(*directory, error);
  auto lock = stream::embedded::LockFile::Take(*directory + "/collector.lock");
  if (!lock.ok()) return ReportError(lock.status());
  std::stop_source stop;
  // A fetch looks at the token about once a second; signals are looked at between fetches and during waits.
  std::jthread watch([&](const std::stop_token& ended) {
    while (!ended.stop_requested())
      if (signals.Wait() != 0) stop.request_stop();
  });
  const auto wait = [&](double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  CollectIntake intake(**client, log);
  const Status ended = hub::Collect(
      wanted, intake,
      [&](const hub::CollectedProject& project, const std::string& message) {
        log.Info(message, {{"project", project.id.value}, {"name", project.name}});
      },
      WallNow, wait, stop.get_token());
  const Status closed = (*client)->Close();
  log.Info("ended", {{"accepted", intake.accepted()}, {"refused", intake.refused()}});
  if (!ended.ok()) return ReportError(ended);
  if (!closed.ok()) return ReportError(closed);
  return options.once && intake.refused() > 0 ? kExitProblems : kExitOk;
}

struct ReleaseOptions {
  DataPlace place;
  std::uint32_t project = 0;
};

int RunRelease(const ReleaseOptions& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  const auto directory = FeedsDirectory(*settings);
  if (!directory.ok()) return ReportError(directory.status());
  auto lock = stream::embedded::LockFile::Take(*directory + "/collector.lock");
  if (!lock.ok()) return ReportError(lock.status());
  const auto projects = CollectedOf(*settings);
  if (!projects.ok()) return ReportError(projects.status());
  for (const hub::CollectedProject& project : *projects) {
    if (project.id.value != options.project) continue;
    auto feed = hub::ProjectFeed::Open(hub::DirectoryOf(*directory, project.id), project);
    if (!feed.ok()) return ReportError(feed.status());
    const std::string reason = (*feed)->state().held_reason;
    if (Status s = (*feed)->Release(); !s.ok()) return ReportError(s);
    std::printf(
        "released: %s\nThe next round of `cobblestone hub collect` accepts the files if they are still the same.\n",
        TerminalText(reason).c_str());
    return kExitOk;
  }
  return ReportError(
      Status::InvalidArgument("project " + std::to_string(options.project) + " is not in the configuration"));
}

struct VerifyOptions {
  std::string directory;
  std::string previous;
  std::string key;
};

int RunVerify(const VerifyOptions& options) {
  hub::VerifyOptions wanted{.previous = options.previous, .key = hub::FromHex(options.key)};
  if (!options.key.empty() && wanted.key.size() != 32)
    return ReportError(
        Status::InvalidArgument("--key: an Ed25519 public key has 64 lower-case hexadecimal digits"));
  const auto verdict = hub::VerifySnapshot(options.directory, wanted);
  if (!verdict.ok()) return ReportError(verdict.status());
  const hub::Manifest& manifest = verdict->manifest;
  for (const std::string& problem : verdict->problems) std::printf("%s\n", TerminalText(problem).c_str());
  std::uint64_t records = 0;
  for (const hub::Project& project : manifest.projects) {
    for (const hub::Part& part : project.parts) records += part.records;
  }
  std::printf("snapshot %s of %s by %s, key %s: %s\n", WithCommas(manifest.sequence).c_str(),
              manifest.date.c_str(), TerminalText(manifest.hub).c_str(), hub::ToHex(manifest.key).c_str(),
              verdict->problems.empty() ? "intact" : "NOT intact");
  std::printf("%s projects, %s records, manifest SHA-256 %s\n", WithCommas(manifest.projects.size()).c_str(),
              WithCommas(records).c_str(), hub::ToHex(verdict->sha256).c_str());
  if (manifest.continues)
    std::printf("This key continues the chain of key %s: %s\n", hub::ToHex(manifest.continues->key).c_str(),
                TerminalText(manifest.continues->statement).c_str());
  if (!verdict->chain_checked && manifest.previous)
    std::printf("The chain was not checked; name the snapshot before with --previous.\n");
  return verdict->problems.empty() ? kExitOk : kExitProblems;
}

struct CompareOptions {
  std::vector<std::string> directories;
  std::uint32_t least = 0;
};

int RunCompare(const CompareOptions& options) {
  const auto comparison = hub::CompareSnapshots(options.directories);
  if (!comparison.ok()) return ReportError(comparison.status());
  if (options.least > comparison->snapshots)
    return ReportError(Status::InvalidArgument("--least is larger than the number of snapshots"));
  std::size_t equal = 0;
  for (const hub::ComparedItem& item : comparison->items) {
    if (item.agreed()) {
      ++equal;
      continue;
    }
    std::printf("%s: %zu of %zu agree\n", item.what.c_str(), item.camps.front().snapshots.size(),
                comparison->snapshots);
    for (const hub::Camp& camp : item.camps) {
      std::string names;
      for (const std::size_t i : camp.snapshots)
        names += (names.empty() ? "" : ", ") + options.directories[i];
      std::printf("  %s: %s\n", TerminalText(names).c_str(), TerminalText(camp.value).c_str());
    }
  }
  std::printf("%zu of %zu items are equal in all %zu snapshots; in each item, at least %zu agree\n", equal,
              comparison->items.size(), comparison->snapshots, comparison->agreement());
  const bool enough = options.least == 0 ? comparison->agreed() : comparison->agreement() >= options.least;
  return enough ? kExitOk : kExitProblems;
}

}  // namespace

void AddHub(Program& program) {
  Verb verb = program.root.Sub("hub", "Federation hub: collect from projects; verify and compare snapshots");
  AddVerb<CollectOptions>(
      program, verb, "collect", "Fetches what projects publish, and sends it to the hub, exactly once",
      [](Verb& sub, CollectOptions& options) {
        AddDataPlace(sub, options.place);
        sub.Flag("--once", options.once, "one round of every project, whether it is due or not");
        sub.Flag(
            "--private-addresses", options.private_addresses,
            "also connect to loopback, link-local and private addresses, for projects of your own network");
        sub.Add("--ca-file", options.ca_file, "certificate authorities, instead of the system's")
            .Type("FILE");
        sub.Footer(
            "Runs beside `cobblestone run` until SIGTERM. The configuration has role: hub, and in `projects` the url\n"
            "and statistics of each project (docs/operations/federation-hub.md). A file that is not plausible is held;\n"
            "`cobblestone hub release` accepts it. What the hub refuses is logged with its reason, and sent again; with\n"
            "--once the exit code is then 1.\n\n"
            "Example:  cobblestone hub collect --config hub.yaml");
      },
      RunCollect);
  AddVerb<ReleaseOptions>(
      program, verb, "release", "Accepts the held files of a project",
      [](Verb& sub, ReleaseOptions& options) {
        sub.Add("PROJECT", options.project, "the hub's number of the project").Required();
        AddDataPlace(sub, options.place);
        sub.Footer(
            "Stop `cobblestone hub collect` for this moment. The edition that follows says that an operator released\n"
            "it, and why it was held.\n\n"
            "Example:  cobblestone hub release 3 --config hub.yaml");
      },
      RunRelease);
  AddHubProof(program, verb);
  AddVerb<VerifyOptions>(
      program, verb, "verify-snapshot",
      "Verifies every file, hash, sum and the signature of a snapshot, offline",
      [](Verb& sub, VerifyOptions& options) {
        sub.Add("DIR", options.directory, "directory of the snapshot").Required();
        sub.Add("--previous", options.previous,
                "the snapshot before: also verify that this one continues its chain")
            .Type("DIR");
        sub.Add("--key", options.key,
                "public key that must have signed, in hexadecimal (default: the snapshot's own)")
            .Type("KEY");
        sub.Footer(
            "docs/design/snapshot.md describes the format. Exit code 1: the snapshot is not intact; each line names a\n"
            "file and a problem.\n\n"
            "Example:  cobblestone hub verify-snapshot 2026-11-27 --previous 2026-11-26");
      },
      RunVerify);
  AddVerb<CompareOptions>(
      program, verb, "compare-snapshots",
      "Compares snapshots of several hubs: how many agree about each project",
      [](Verb& sub, CompareOptions& options) {
        sub.Add("DIR", options.directories, "directories of two snapshots or more").Required();
        sub.Add("--least", options.least,
                "number of snapshots that must agree in every item (default: all of them)")
            .Positive()
            .Type("N");
        sub.Footer(
            "Compares manifests and their signatures; verify each snapshot for its files. Exit code 1: fewer\n"
            "snapshots agree.\n\n"
            "Example:  cobblestone hub compare-snapshots hub-a/2026-11-27 hub-b/2026-11-27 hub-c/2026-11-27 --least 2");
      },
      RunCompare);
  AddHubSnapshots(program, verb);
}

}  // namespace cobblestone::commands
