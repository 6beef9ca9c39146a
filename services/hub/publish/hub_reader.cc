#include "services/hub/publish/hub_reader.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "common/federation/identity/rows.h"
#include "common/wire/control/topics.h"
#include "services/feeds/feeds_stage.h"
#include "services/hub/publish/project_key.h"
#include "services/identity/identity_rows.h"

namespace cobblestone::hub {
namespace {

const stream::TableSpec<members::MemberRow>& MembersTableOf(wire::AccountKind kind) {
  switch (kind) {
    case wire::AccountKind::kHost: return members::kHostsTable;
    case wire::AccountKind::kTeam: return members::kTeamsTable;
    default: return members::kUsersTable;
  }
}

// The id that the account showed first; of several of one day the smallest. The account has shown an id.
const federation::Edge& FirstEdgeOf(const federation::AccountRow& account) {
  return *std::min_element(account.edges.begin(), account.edges.end(),
                           [](const federation::Edge& a, const federation::Edge& b) {
                             return std::tie(a.first, a.cpid) < std::tie(b.first, b.cpid);
                           });
}

// The row of an account that has shown an id; nothing otherwise.
Result<std::optional<federation::AccountRow>> FindShown(const view::Rows& rows,
                                                        const federation::AccountKey& key) {
  auto row = view::Find(rows, identity::kUsersTable, identity::KeyOf(federation::UserKeyOf(key)));
  if (!row.ok()) return row.status();
  if (*row)
    for (federation::AccountRow& account : (*row)->accounts)
      if (account.create_time == key.create_time && !account.edges.empty())
        return std::optional(std::move(account));
  return std::optional<federation::AccountRow>();
}

}  // namespace

Result<std::unique_ptr<HubReader>> HubReader::Open(view::State& state) {
  std::unique_ptr<HubReader> reader(new HubReader);
  if (Status s = reader->Read(state); !s.ok()) return s;
  return reader;
}

// FEEDS is read first: a partition may be ahead of it (see the header), but not behind.
Status HubReader::Read(view::State& state) {
  auto feeds = state.Of(view::Stage::kCoordinator, 0);
  if (!feeds.ok()) return feeds.status();
  feeds_ = std::move(*feeds);
  const auto clock = view::Find(*feeds_, feeds::kFactorsStateTable, stream::Key{});
  if (!clock.ok()) return clock.status();
  if (!*clock || (*clock)->tick <= 0)
    return Status::NotFound(
        "the hub has no time yet, so a snapshot would have no date: set ticks: wall, or send ticks");
  time_ = (*clock)->tick;
  if (Status s = ReadProjects(); !s.ok()) return s;
  if (Status s = ReadEditions(); !s.ok()) return s;
  for (std::uint32_t k = 0; k < state.partitions(); ++k) {
    auto rows = state.Of(view::Stage::kAccounts, k);
    if (!rows.ok()) return rows.status();
    members_.push_back(std::move(*rows));
  }
  return CheckPassed();
}

Status HubReader::ReadProjects() {
  std::map<std::uint32_t, feeds::ProjectRow> rows;
  Status read = view::ForEach(*feeds_, feeds::kProjectsTable,
                              [&](const stream::Key& key, const feeds::ProjectRow& row) {
                                rows.emplace(key.project, row);
                                return Status::Ok();
                              });
  if (!read.ok()) return read;
  std::vector<std::string> taken;
  for (auto& [number, row] : rows) {
    taken.push_back(UniqueKey(ProjectKeyOf(row.project.url, row.project.name), taken));
    projects_.push_back(
        {.id = ProjectId(number), .key = taken.back(), .row = std::move(row), .complete = {}, .held = {}});
    projects_.back().registered = projects_.back().row.project_stamp.time;
  }
  std::sort(projects_.begin(), projects_.end(),
            [](const HubProject& a, const HubProject& b) { return a.key < b.key; });
  for (std::size_t i = 0; i < projects_.size(); ++i) index_[projects_[i].id.value] = i;
  return Status::Ok();
}

Status HubReader::ReadEditions() {
  for (HubProject& project : projects_) {
    const auto read = [&](std::uint64_t number, std::optional<feeds::EditionRow>* edition) {
      auto row = view::Find(*feeds_, feeds::kEditionsTable, feeds::EditionKey(project.id, number));
      if (row.ok()) *edition = std::move(*row);
      return row.status();
    };
    const feeds::ProjectRow& row = project.row;
    if (row.complete != 0)
      if (Status s = read(row.complete, &project.complete); !s.ok()) return s;
    if (row.held > row.complete)
      if (Status s = read(row.held, &project.held); !s.ok()) return s;
  }
  return Status::Ok();
}

Status HubReader::CheckPassed() const {
  const auto sent = view::Find(*feeds_, feeds::kRelayTable, stream::Key{});
  if (!sent.ok()) return sent.status();
  const std::uint64_t watermarks = *sent ? (*sent)->watermarks : 0;
  for (const auto& rows : members_) {
    const auto passed = view::Find(*rows, members::kWatermarksTable, stream::Key{});
    if (!passed.ok()) return passed.status();
    if ((*passed ? (*passed)->passed : 0) < watermarks)
      return Status::Retry("the state of a partition is behind; try again in a moment");
  }
  return Status::Ok();
}

Result<const wire::FeedAccount*> HubReader::SeenAt(const HubProject& project,
                                                   const members::MemberRow& row) const {
  const wire::FeedAccount* seen = members::SeenOf(row, project.row.complete, project.row.whole);
  if (seen != nullptr && seen->edition > project.row.complete)
    return Status::Retry("a further edition of project " + project.key +
                         " has arrived during the read; try again");
  return seen;
}

Status HubReader::Accounts(wire::AccountKind kind, const Visit& visit) const {
  for (const auto& rows : members_) {
    Status read = view::ForEach(*rows, MembersTableOf(kind),
                                [&](const stream::Key& key, const members::MemberRow& row) -> Status {
                                  const auto project = index_.find(key.project);
                                  if (project == index_.end()) return Status::Ok();  // registered since
                                  const auto seen = SeenAt(projects_[project->second], row);
                                  if (!seen.ok()) return seen.status();
                                  if (*seen == nullptr) return Status::Ok();
                                  return visit(project->second, key.id, row, **seen);
                                });
    if (!read.ok()) return read;
  }
  return Status::Ok();
}

Result<std::optional<wire::FeedAccount>> HubReader::Find(wire::AccountKind kind, std::size_t project,
                                                         std::uint64_t id) const {
  const HubProject& of = projects_[project];
  const auto partition = wire::PartitionOf(of.id, id, static_cast<std::uint32_t>(members_.size()));
  const auto row =
      view::Find(*members_[partition], MembersTableOf(kind), {.project = of.id.value, .id = id, .sub = 0});
  if (!row.ok()) return row.status();
  if (!*row) return std::optional<wire::FeedAccount>();
  const auto seen = SeenAt(of, **row);
  if (!seen.ok()) return seen.status();
  return *seen == nullptr ? std::optional<wire::FeedAccount>() : std::optional(**seen);
}

bool HubReader::IsShared(std::size_t project, std::uint64_t user) const {
  const std::vector<std::uint64_t>& shared = projects_[project].row.project.shared_accounts;
  return std::binary_search(shared.begin(), shared.end(), user);
}

// By the keys of projects, because hubs number them differently.
Result<Person> HubReader::PersonOf(std::size_t project, std::uint64_t user, double create_time) const {
  Person person;
  if (create_time < 1 || IsShared(project, user)) return person;
  const federation::AccountKey account{.project = projects_[project].id.value,
                                       .user = user,
                                       .create_time = static_cast<std::uint64_t>(create_time)};
  const auto shown = FindShown(*feeds_, account);
  if (!shown.ok()) return shown.status();
  if (!*shown) return person;
  const auto all =
      view::Find(*feeds_, identity::kIdentitiesTable, identity::KeyOf(federation::KeyOf((*shown)->identity)));
  if (!all.ok()) return all.status();
  std::vector<federation::AccountKey> accounts{account};
  if (*all) accounts = (*all)->accounts;
  using Rank = std::tuple<federation::Day, std::string, std::uint64_t, std::uint64_t>;
  std::optional<Rank> eldest;
  for (const federation::AccountKey& one : accounts) {
    const auto row = FindShown(*feeds_, one);
    if (!row.ok()) return row.status();
    const auto of = index_.find(one.project);
    if (!*row || of == index_.end() || IsShared(of->second, one.user)) continue;
    const federation::Edge& first = FirstEdgeOf(**row);
    Rank rank(first.first, projects_[of->second].key, one.user, one.create_time);
    if (eldest && *eldest < rank) continue;
    person = {
        .name = std::get<1>(rank) + "-" + std::to_string(one.user) + "-" + std::to_string(one.create_time),
        .cpid = federation::CpidText(first.cpid)};
    eldest = std::move(rank);
  }
  return person;
}

}  // namespace cobblestone::hub
