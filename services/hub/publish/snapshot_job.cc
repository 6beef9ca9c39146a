#include "services/hub/publish/snapshot_job.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <utility>

#include "common/federation/identity/facts.h"
#include "common/wire/events/feed_reason.h"
#include "common/wire/events/text_limits.h"
#include "services/hub/feeds/feed_text.h"
#include "services/hub/snapshot/archive.h"
#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/snapshot_files.h"
#include "services/hub/snapshot/writer.h"

namespace cobblestone::hub {
namespace {

// Longer texts are cut, so that every record fits into a line, every state into the manifest, and every name into an event.
constexpr std::size_t kMostOfText = 4096;
constexpr std::size_t kMostOfReason = 1000;
constexpr double kMostMicro = 9e18;

// UTF-8 of at most that many bytes.
std::string Clean(const std::string& text, std::size_t most) {
  if (text.size() <= most && IsUtf8(text)) return text;
  std::string clean = ToUtf8(std::string_view(text).substr(0, most), Charset::kUtf8);
  // A byte that is no UTF-8 has become three.
  return clean.size() <= most ? clean : ToUtf8(std::string_view(clean).substr(0, most), Charset::kUtf8);
}
std::string CleanText(const std::string& text) { return Clean(text, kMostOfText); }
std::string CleanName(const std::string& text) { return Clean(text, wire::kMaxName); }

std::string CleanCpid(const std::string& text) {
  const auto cpid = federation::ParseCpid(text);
  return cpid ? federation::CpidText(*cpid) : "";
}

Micro MicroOf(double credit) { return std::llround(std::clamp(credit * 1e6, -kMostMicro, kMostMicro)); }
std::uint64_t Seconds(double time) { return time > 0 ? static_cast<std::uint64_t>(time) : 0; }

// ---- Records ----------------------------------------------------------------------------------------------

UserRecord UserOf(const SortedAccount& sorted) {
  const wire::FeedAccount& a = sorted.account;
  return {.id = a.account,
          .cpid = CleanCpid(a.cross_project_id),
          .identity = sorted.person,
          .name = CleanName(a.name),
          .country = CleanName(a.country),
          .url = CleanText(a.url),
          .create_time = Seconds(a.create_time),
          .team = a.team,
          .total = a.total_micro,
          .recent = MicroOf(a.recent),
          .recent_time = Seconds(a.recent_time)};
}

HostRecord HostOf(const SortedAccount& sorted) {
  const wire::FeedAccount& a = sorted.account;
  return {.id = a.account,
          .user = a.owner,
          .host_cpid = CleanCpid(a.cross_project_id),
          .description = CleanText(a.description),
          .create_time = Seconds(a.create_time),
          .total = a.total_micro,
          .recent = MicroOf(a.recent),
          .recent_time = Seconds(a.recent_time)};
}

TeamRecord TeamOf(const SortedAccount& sorted) {
  const wire::FeedAccount& a = sorted.account;
  return {.id = a.account,
          .name = CleanName(a.name),
          .country = CleanName(a.country),
          .url = CleanText(a.url),
          .founder = a.owner,
          .create_time = Seconds(a.create_time),
          .total = a.total_micro,
          .recent = MicroOf(a.recent),
          .recent_time = Seconds(a.recent_time)};
}

// ---- State of a project -----------------------------------------------------------------------------------

std::string ConditionWord(wire::FeedCondition condition) {
  switch (condition) {
    case wire::FeedCondition::kNoWork: return "no work";
    case wire::FeedCondition::kStuck: return "results wait and are not validated";
    case wire::FeedCondition::kStopped: return "stopped";
    case wire::FeedCondition::kMoved: return "moved";
    case wire::FeedCondition::kUnreachable: return "unreachable";
    default: return "";
  }
}

bool HasRecords(const HubProject& project, double direct) { return project.complete || direct > 0; }

// When the records of the project were published, UNIX s.
double PublishedOf(const HubProject& project, double direct) {
  if (!project.complete) return direct;
  const feeds::EditionRow& edition = *project.complete;
  return std::max(edition.edition.published_time > 0 ? edition.edition.published_time : edition.ended.time,
                  direct);
}

// Without what the operator of this hub may do.
std::string ReasonOf(const feeds::EditionRow& held) {
  return std::string(wire::SplitReason(held.edition.reason).reason);
}

Project StateOf(const HubProject& project, double direct, const std::string& date) {
  const wire::FeedProject& about = project.row.project;
  Project shown{.key = project.key,
                .url = CleanText(about.url),
                .name = CleanName(about.name),
                .account_manager = about.account_manager};
  const bool known = HasRecords(project, direct);
  shown.since = std::min(DateOf(known ? PublishedOf(project, direct) : project.registered), date);
  if (!known) {
    shown.state = ProjectState::kUnknown;
    shown.why =
        project.held ? "held: " + ReasonOf(*project.held) : ConditionWord(project.row.health.condition);
  } else if (project.held) {
    shown.state = ProjectState::kHeld;
    shown.why = ReasonOf(*project.held);
  } else if (shown.since != date) {
    shown.state = ProjectState::kStale;
    shown.why = about.retired ? "retired" : ConditionWord(project.row.health.condition);
  }
  shown.why = Clean(shown.why, kMostOfReason);
  return shown;
}

// What the edition contains beyond the records that are shown.
NotShown NotShownOf(const HubProject& project, std::uint64_t users, MicroSum total) {
  if (project.complete)
    for (const wire::FeedSum& sum : project.complete->edition.sums)
      if (sum.kind == wire::AccountKind::kUser && sum.accounts >= users && sum.total_micro >= total)
        return {.users = sum.accounts - users, .total = sum.total_micro - total};
  return {};
}

// ---- The chain --------------------------------------------------------------------------------------------

Status PutInChain(const SnapshotJob& job, const SigningKey& key, Manifest* head) {
  const auto names = SnapshotsIn(job.directory);
  if (!names.ok()) return names.status();
  if (names->empty()) return Status::Ok();
  const std::string last = job.directory + "/" + names->back();
  if (names->back() == head->date)
    return Status::InvalidArgument(last + " exists already; a snapshot never changes");
  if (names->back() > head->date)
    return Status::InvalidArgument(last + " is newer than the hub's time, " + head->date);
  const auto files = SnapshotFiles::Open(last);
  if (!files.ok()) return files.status();
  const auto before = ReadManifestOf(*files);
  if (!before.ok() || !before->signature_valid)
    return Status::Corrupted(last + ": the manifest is damaged, so it cannot be continued" +
                             (before.ok() ? "" : ": " + before.status().message()));
  head->sequence = before->manifest.sequence + 1;
  head->previous = {.sequence = before->manifest.sequence, .sha256 = before->sha256};
  if (before->manifest.key == key.PublicKey()) return Status::Ok();
  if (job.continues.empty())
    return Status::InvalidArgument(
        last + " is signed by another key; set snapshots.continues to the reason why this key continues it");
  head->continues = {.key = before->manifest.key, .statement = job.continues};
  return Status::Ok();
}

// ---- Writing ----------------------------------------------------------------------------------------------

template <class RecordOf>
Status WritePart(AccountReader& reader, std::size_t project, PartKind kind, RecordOf&& record_of,
                 SnapshotWriter& writer) {
  if (Status s = writer.AddPart(kind); !s.ok()) return s;
  for (;;) {
    const auto has = reader.Next(project);
    if (!has.ok()) return has.status();
    if (!*has) return Status::Ok();
    if (Status s = writer.Add(record_of(reader.account())); !s.ok()) return s;
  }
}

struct UserSums {
  std::uint64_t users = 0;
  MicroSum total = 0;
};

Result<std::vector<UserSums>> SumUsers(const HubReader& hub, const HubAccounts& accounts) {
  std::vector<UserSums> sums(hub.projects().size());
  AccountReader reader(accounts.users);
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (;;) {
      const auto has = reader.Next(i);
      if (!has.ok()) return has.status();
      if (!*has) break;
      ++sums[i].users;
      sums[i].total += reader.account().account.total_micro;
    }
  return sums;
}

}  // namespace

std::string DateOf(double time) {
  const auto seconds = static_cast<std::time_t>(std::floor(time));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return std::string(text, size);
}

Result<bool> HasSnapshot(const SnapshotJob& job, const std::string& date) {
  const auto names = SnapshotsIn(job.directory);
  if (!names.ok()) return names.status();
  return std::find(names->begin(), names->end(), date) != names->end();
}

Result<Previous> WriteSnapshot(const HubReader& hub, const HubAccounts& accounts, const SnapshotJob& job,
                               const SigningKey& key) {
  Manifest head{.hub = job.hub, .date = DateOf(hub.time()), .consent = job.consent};
  if (Status s = PutInChain(job, key, &head); !s.ok()) return s;
  const auto sums = SumUsers(hub, accounts);
  if (!sums.ok()) return sums.status();
  auto writer = SnapshotWriter::Begin(job.directory + "/" + head.date, head);
  if (!writer.ok()) return writer.status();
  AccountReader users(accounts.users);
  AccountReader hosts(accounts.hosts);
  AccountReader teams(accounts.teams);
  for (std::size_t i = 0; i < hub.projects().size(); ++i) {
    Project project = StateOf(hub.projects()[i], accounts.direct[i], head.date);
    project.not_shown = NotShownOf(hub.projects()[i], (*sums)[i].users, (*sums)[i].total);
    const bool unknown = project.state == ProjectState::kUnknown;
    if (Status s = writer->AddProject(std::move(project)); !s.ok()) return s;
    if (unknown) continue;
    if (Status s = WritePart(users, i, PartKind::kUsers, UserOf, *writer); !s.ok()) return s;
    if (Status s = WritePart(hosts, i, PartKind::kHosts, HostOf, *writer); !s.ok()) return s;
    if (Status s = WritePart(teams, i, PartKind::kTeams, TeamOf, *writer); !s.ok()) return s;
  }
  return writer->Publish(key);
}

}  // namespace cobblestone::hub
