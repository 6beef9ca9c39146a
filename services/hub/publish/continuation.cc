#include "services/hub/publish/continuation.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/stream/bytes.h"
#include "common/stream/record.h"
#include "common/stream/state_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "services/feeds/feed_rows.h"
#include "services/hub/publish/project_key.h"
#include "services/hub/publish/spill_sort.h"
#include "services/hub/snapshot/new_file.h"
#include "services/hub/snapshot/snapshot_files.h"

namespace cobblestone::hub {
namespace {

// An id with more accounts is nobody's: IDENTITY does not let it join them either.
constexpr std::size_t kMostOfOneId = 1000;
constexpr char kNameEnd = '\0';

// UNIX s of the beginning of a day; "2026-11-27".
double StartOf(const std::string& date) {
  std::tm utc{};
  ::strptime(date.c_str(), "%Y-%m-%d", &utc);
  return static_cast<double>(::timegm(&utc));
}

// Of an edition, and of the events about a project: milliseconds, as the collector's, so that its later ones are greater.
std::uint64_t NumberAt(const std::string& date) {
  return static_cast<std::uint64_t>(std::max(StartOf(date), 1.0)) * 1000;
}

wire::AccountKind KindOfPart(PartKind kind) {
  switch (kind) {
    case PartKind::kHosts: return wire::AccountKind::kHost;
    case PartKind::kTeams: return wire::AccountKind::kTeam;
    case PartKind::kUsers: break;
  }
  return wire::AccountKind::kUser;
}

double CreditOfMicro(Micro micro) { return static_cast<double>(micro) / 1e6; }

wire::FeedAccount AccountOf(const UserRecord& record) {
  return {.kind = wire::AccountKind::kUser,
          .account = record.id,
          .total_micro = record.total,
          .recent = CreditOfMicro(record.recent),
          .recent_time = static_cast<double>(record.recent_time),
          .create_time = static_cast<double>(record.create_time),
          .name = record.name,
          .country = record.country,
          .url = record.url,
          .cross_project_id = record.cpid,
          .team = record.team};
}

wire::FeedAccount AccountOf(const HostRecord& record) {
  return {.kind = wire::AccountKind::kHost,
          .account = record.id,
          .total_micro = record.total,
          .recent = CreditOfMicro(record.recent),
          .recent_time = static_cast<double>(record.recent_time),
          .create_time = static_cast<double>(record.create_time),
          .cross_project_id = record.host_cpid,
          .owner = record.user,
          .description = record.description};
}

wire::FeedAccount AccountOf(const TeamRecord& record) {
  return {.kind = wire::AccountKind::kTeam,
          .account = record.id,
          .total_micro = record.total,
          .recent = CreditOfMicro(record.recent),
          .recent_time = static_cast<double>(record.recent_time),
          .create_time = static_cast<double>(record.create_time),
          .name = record.name,
          .country = record.country,
          .url = record.url,
          .owner = record.founder};
}

// A user with an id, for the decisions.
struct KnownUser {
  std::uint32_t project = 0;  // the new hub's number
  std::uint64_t user = 0;
  std::uint64_t create_time = 0;
  std::string cpid;
  std::string person;
  bool cut = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.user, s.create_time, s.cpid, s.person, s.cut);
  }
};

Status AddUser(const std::string& name, const KnownUser& user, SpillSort* sort) {
  std::string key = name + kNameEnd;
  stream::AppendOrdered(key, user.project);
  stream::AppendOrdered(key, user.user);
  std::string bytes;
  stream::EncodeState(user, bytes);
  return sort->Add(key, bytes);
}

// Calls `group` with all users of one name, at most kMostOfOneId + 1 of them.
template <class TakeGroup>
Status ForEachGroup(const SortedRecords& records, TakeGroup&& group) {
  constexpr std::size_t kPlace = 1 + sizeof(std::uint32_t) + sizeof(std::uint64_t);
  auto reader = records.Read();
  std::string name;
  std::vector<KnownUser> users;
  for (;;) {
    const auto has = reader.Next();
    if (!has.ok()) return has.status();
    const std::string_view next =
        *has ? reader.key().substr(0, reader.key().size() - kPlace) : std::string_view();
    if (!users.empty() && (!*has || next != name)) {
      if (Status s = group(users); !s.ok()) return s;
      users.clear();
    }
    if (!*has) return Status::Ok();
    name = next;
    if (users.size() > kMostOfOneId) continue;
    stream::StateReader(reader.value())(users.emplace_back());
  }
}

// The person to whom an id belongs: the one with the most accounts that show it.
std::string OwnerOfId(const std::vector<KnownUser>& users) {
  std::map<std::string, std::size_t> counts;
  for (const KnownUser& user : users) ++counts[user.person];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

class ContinuationWriter {
 public:
  ContinuationWriter(const SnapshotFiles& files, const Manifest& manifest,
                     const std::vector<ContinuedProject>& projects, const std::string& scratch)
      : files_(files), manifest_(manifest), projects_(projects), by_cpid_(scratch), by_person_(scratch) {}

  Result<ContinuationFigures> Write(const std::string& file) {
    if (Status s = out_.Open(file); !s.ok()) return s;
    for (std::size_t i = 0; i < projects_.size(); ++i)
      if (Status s = WriteProject(manifest_.projects[i], projects_[i]); !s.ok()) return s;
    if (Status s = WriteDecisions(); !s.ok()) return s;
    if (Status s = out_.Finish(); !s.ok()) return s;
    return figures_;
  }

 private:
  Status Put(const wire::EventHead& head, wire::EventBody body) {
    std::string record;
    stream::AppendRecord(record, wire::EncodeEvent({.head = head, .body = std::move(body)}));
    ++figures_.events;
    return out_.Append(record);
  }

  Status WriteProject(const Project& from, const ContinuedProject& to) {
    const double time = StartOf(from.since);
    edition_ = to.edition;
    newest_ = std::max(newest_, time);
    wire::EventHead head{.id = NumberAt(from.since), .project = to.number, .time = time};
    wire::FeedProject project{.name = from.name.empty() ? from.key : from.name,
                              .url = from.url,
                              .mode = wire::FeedMode::kFiles,
                              .account_manager = from.account_manager,
                              .present = wire::FeedProject::kRequired | wire::FeedProject::kUrl};
    if (from.account_manager) project.present |= wire::FeedProject::kAccountManager;
    Status s = Put(head, std::move(project));
    if (!s.ok() || to.edition == 0) return s;
    wire::FeedEdition edition{
        .edition = edition_, .state = wire::EditionState::kBegun, .published_time = time, .whole = true};
    head.id = 2 * edition_;
    if (s = Put(head, edition); !s.ok()) return s;
    for (const Part& part : from.parts) {
      if (s = WriteAccounts(from, part, to, time); !s.ok()) return s;
      edition.sums.push_back({.kind = KindOfPart(part.kind),
                              .accounts = part.records,
                              .total_micro = part.total,
                              .changed = part.records});
      if (part.kind != PartKind::kUsers) continue;
      edition.sums.back().accounts += from.not_shown.users;
      edition.sums.back().total_micro += from.not_shown.total;
    }
    if (s = Put({.id = edition_, .project = {}, .time = time}, wire::Barrier{}); !s.ok()) return s;
    edition.state = wire::EditionState::kComplete;
    edition.reason = "snapshot " + std::to_string(manifest_.sequence) + " of " + manifest_.hub;
    head.id = 2 * edition_ + 1;
    return Put(head, edition);
  }

  Status WriteAccounts(const Project& from, const Part& part, const ContinuedProject& to, double time) {
    return ReadLines(files_, FileNameOf(from, part.kind),
                     [&](std::string_view line, std::uint64_t) -> Status {
                       switch (part.kind) {
                         case PartKind::kHosts: return WriteRecord(ParseHost(line), to, time);
                         case PartKind::kTeams: return WriteRecord(ParseTeam(line), to, time);
                         case PartKind::kUsers: break;
                       }
                       const auto user = ParseUser(line);
                       if (user.ok() && !user->identity.empty() && !user->cpid.empty())
                         if (Status s = AddUser(user->cpid,
                                                {.project = to.number.value,
                                                 .user = user->id,
                                                 .create_time = user->create_time,
                                                 .cpid = user->cpid,
                                                 .person = user->identity},
                                                &by_cpid_);
                             !s.ok())
                           return s;
                       return WriteRecord(user, to, time);
                     });
  }

  template <class Record>
  Status WriteRecord(const Result<Record>& record, const ContinuedProject& to, double time) {
    if (!record.ok()) return record.status();
    wire::FeedAccount account = AccountOf(*record);
    account.edition = edition_;
    ++figures_.accounts;
    return Put({.id = edition_, .project = to.number, .time = time}, std::move(account));
  }

  // Ids that an account showed in the past are not in a snapshot, so the present ids alone would join less, and others.
  Status WriteDecisions() {
    const auto by_cpid = by_cpid_.Finish();
    if (!by_cpid.ok()) return by_cpid.status();
    Status s = ForEachGroup(*by_cpid, [&](std::vector<KnownUser>& users) { return Cut(users); });
    if (!s.ok()) return s;
    const auto by_person = by_person_.Finish();
    if (!by_person.ok()) return by_person.status();
    return ForEachGroup(*by_person, [&](std::vector<KnownUser>& users) { return Join(users); });
  }

  // Of several persons who show one id, it stays with one.
  Status Cut(std::vector<KnownUser>& users) {
    const std::string owner = OwnerOfId(users);
    for (KnownUser& user : users) {
      user.cut = user.person != owner && users.size() <= kMostOfOneId;
      if (user.cut) {
        ++figures_.cut;
        wire::IdentityDecision decision = Decision(user, wire::IdentityDecisionKind::kCut);
        decision.cross_project_id = user.cpid;
        if (Status s = PutDecision(user, std::move(decision)); !s.ok()) return s;
      }
      if (Status s = AddUser(user.person, user, &by_person_); !s.ok()) return s;
    }
    return Status::Ok();
  }

  // Accounts with one id are one person by the id itself.
  Status Join(std::vector<KnownUser>& users) {
    std::stable_sort(users.begin(), users.end(),
                     [](const KnownUser& a, const KnownUser& b) { return a.cut < b.cut; });
    const KnownUser& first = users.front();
    std::set<std::string> joined;
    if (!first.cut) joined.insert(first.cpid);
    for (std::size_t i = 1; i < users.size(); ++i) {
      const KnownUser& user = users[i];
      if (!user.cut && !joined.insert(user.cpid).second) continue;
      ++figures_.joined;
      wire::IdentityDecision decision = Decision(user, wire::IdentityDecisionKind::kJoin);
      decision.other_project = first.project;
      decision.other_user = first.user;
      decision.other_create_time = static_cast<double>(first.create_time);
      if (Status s = PutDecision(user, std::move(decision)); !s.ok()) return s;
    }
    return Status::Ok();
  }

  [[nodiscard]] wire::IdentityDecision Decision(const KnownUser& user,
                                                wire::IdentityDecisionKind kind) const {
    return {.kind = kind,
            .user = user.user,
            .create_time = static_cast<double>(user.create_time),
            .reason = "snapshot " + std::to_string(manifest_.sequence) + " of " + manifest_.hub};
  }

  Status PutDecision(const KnownUser& user, wire::IdentityDecision decision) {
    const wire::EventHead head{.id = ++decisions_, .project = ProjectId(user.project), .time = newest_};
    return Put(head, std::move(decision));
  }

  const SnapshotFiles& files_;
  const Manifest& manifest_;
  const std::vector<ContinuedProject>& projects_;
  NewFile out_;
  SpillSort by_cpid_;
  SpillSort by_person_;
  ContinuationFigures figures_;
  std::uint64_t edition_ = 0;  // of the project
  double newest_ = 0;          // UNIX s: the newest edition
  std::uint64_t decisions_ = 0;
};

}  // namespace

std::vector<ContinuedProject> NumberProjects(const Manifest& manifest,
                                             const std::vector<ConfiguredProject>& configured) {
  std::map<std::string, ProjectId> by_key;
  std::set<std::uint32_t> taken;
  std::vector<std::string> keys;
  for (const ConfiguredProject& project : configured) {
    keys.push_back(UniqueKey(ProjectKeyOf(project.url, project.name), keys));
    by_key[keys.back()] = project.number;
    taken.insert(project.number.value);
  }
  std::vector<ContinuedProject> numbered;
  std::uint32_t next = 1;
  for (const Project& project : manifest.projects) {
    numbered.push_back({.key = project.key, .name = project.name, .url = project.url, .number = {}});
    if (project.state != ProjectState::kUnknown) numbered.back().edition = NumberAt(project.since);
    const auto known = by_key.find(project.key);
    if (known != by_key.end()) {
      numbered.back().number = known->second;
      numbered.back().configured = true;
      continue;
    }
    while (taken.contains(next)) ++next;
    taken.insert(next);
    numbered.back().number = ProjectId(next);
  }
  return numbered;
}

Status CheckEmptyHub(view::State& state, const std::vector<ContinuedProject>& projects) {
  const auto rows = state.Of(view::Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  return view::ForEach(
      **rows, feeds::kProjectsTable, [&](const stream::Key& key, const feeds::ProjectRow& row) -> Status {
        const auto ours = std::any_of(projects.begin(), projects.end(), [&](const ContinuedProject& one) {
          return one.number.value == key.project && one.edition == row.complete;
        });
        if (row.complete == 0 || ours) return Status::Ok();
        return Status::InvalidArgument("the hub already has accounts of project " +
                                       std::to_string(key.project) +
                                       "; a snapshot can only be adopted by an empty hub");
      });
}

Result<ContinuationFigures> WriteContinuation(const std::string& snapshot, const Manifest& manifest,
                                              const std::vector<ContinuedProject>& projects,
                                              const std::string& file, const std::string& scratch) {
  const auto files = SnapshotFiles::Open(snapshot);
  if (!files.ok()) return files.status();
  return ContinuationWriter(*files, manifest, projects, scratch).Write(file);
}

}  // namespace cobblestone::hub
