// All accounts of a federation hub in memory: ranks, people, countries, and teams over projects. Built by hub_index_build.h
// and immutable: readers share it without a lock.
//
// - Every account is as of its project's last complete edition (services/members/member_rows.h).
// - Recent averages are decayed to one instant, `as_of`. Exponential decay keeps their order and their ratios, so the
//   ranks hold at any later instant.
// - A person is an identity (docs/design/identity.md), or an account that has shown no cross-project id.
// - Sums over projects are in Cobblestones: points of a project are divided by its points_per_cobblestone (cobblestones.h).
// - An account of an account manager (FeedProject::shared_accounts) is no person's: it is in the sums and lists of its project
//   only. What its members earned with it are their accounts at the manager (FeedProject::account_manager).
//
// Memory in bytes: 64 per user and 56 per person, both without the name; 44 per host; 52 per team. A user's name has about
// 12. 10^7 users who are 10^7 people, and 3 x 10^7 hosts: 2.7 GB; twice that while the next index is built. If a project's
// points count since a day, each of its accounts with credit of that day or later takes 32 more.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/constants.h"
#include "common/federation/identity/facts.h"
#include "common/wire/events/account_kind.h"
#include "services/view/hub/cobblestones.h"
#include "services/view/state.h"

namespace cobblestone::view {

// An index into one of the arrays below.
using Place = std::uint32_t;
inline constexpr Place kNowhere = 0xFFFFFFFF;

enum class HubRank : std::uint8_t { kTotal, kRecent };

struct IndexedUser {
  std::uint64_t id = 0;
  credit::MicroCredit total = 0;  // the project's points, as in all accounts
  double recent = 0;              // points per day at `as_of`
  std::uint32_t created = 0;      // UNIX s
  Place person = kNowhere;        // nowhere: the account is shared
  Place team = kNowhere;
  std::uint32_t name = 0;        // offset in `names`
  std::uint16_t country = 0;     // in `countries`
  std::uint16_t project = 0;     // in `projects`
  std::uint16_t hosts = 0;       // 65,535: or more
  std::uint16_t used_hosts = 0;  // with a recent average of at least kUsedRecent
};
static_assert(sizeof(IndexedUser) == 48);
// BOINC's server_status.php counts accounts with a greater average as those with recent credit.
inline constexpr double kUsedRecent = 0.1;

struct IndexedHost {
  std::uint64_t id = 0;
  credit::MicroCredit total = 0;
  double recent = 0;
  std::uint64_t cpid : 48 = 0;  // the first bits of the host's cross-project id; 0: none
  std::uint64_t project : 16 = 0;
};
static_assert(sizeof(IndexedHost) == 32);

struct IndexedTeam {
  std::uint64_t id = 0;
  credit::MicroCredit total = 0;
  double recent = 0;
  Place group = kNowhere;     // nowhere: it has no name
  Place first_member = 0;     // in users_by_team
  std::uint32_t members = 0;  // users
  std::uint16_t project = 0;
};

struct IndexedPerson {
  credit::MicroTotal total = 0;  // Cobblestones
  double recent = 0;
  Place shown = kNowhere;  // the user whose name and country are shown: the eldest account if it is exported
  Place first = 0;         // of the accounts, in users_by_person
  std::uint16_t country = 0;
  std::uint16_t projects = 0;
};
static_assert(sizeof(IndexedPerson) == 48);

// MD5 of a name in lower case (ASCII letters): how stock projects link to a team over projects.
using TeamNameKey = std::array<unsigned char, 16>;
TeamNameKey TeamNameKeyOf(std::string_view name);
std::string TeamNameKeyText(const TeamNameKey& key);                        // 32 lower-case digits
std::optional<TeamNameKey> ParseTeamNameKey(std::string_view hexadecimal);  // of either case

// Teams of the same name.
struct IndexedGroup {
  TeamNameKey key{};
  credit::MicroTotal total = 0;  // Cobblestones, as the projects sum it for the team
  double recent = 0;
  Place shown = kNowhere;  // the team with the greatest total
  Place first = 0;         // of the teams, in teams_by_group
  std::uint32_t teams = 0;
  std::uint32_t members = 0;  // accounts: a member at two projects counts twice
};

struct IndexedCountry {
  std::string name;  // as the projects export it; the first is empty: none
  credit::MicroTotal total = 0;
  double recent = 0;
  std::uint32_t people = 0;
};
// More names of countries than exist; further ones count as none. A bound on what a project can make the hub hold.
inline constexpr std::size_t kMostCountries = 2000;

struct PlaceRange {
  Place begin = 0;
  Place end = 0;
  [[nodiscard]] Place size() const { return end - begin; }
};

// Credit of an account of the day since which its project's points count, and later.
struct LaterCredit {
  std::uint64_t id = 0;
  credit::MicroTotal micro = 0;
};

// Over the accounts of a kind at a project.
struct IndexedSum {
  credit::MicroTotal total = 0;
  double recent = 0;
  // Only if the project's points count since a day (Points::dated).
  credit::MicroTotal later = 0;         // part of the total
  std::vector<LaterCredit> later_of{};  // by id; accounts without any are left out
};

// s. A project is fetched once a day: after two days without a complete edition, its figures are old.
inline constexpr double kKnownFor = 2 * credit::kSecondsPerDay;

// Credit of a project and of another one for the same hosts (shared_hosts.h).
struct SharedHosts {
  Place other = 0;          // the other project's place
  std::uint32_t hosts = 0;  // that were compared
  double ratio = 0;         // Cobblestones per day at the project / at the other one, the median over hosts
  double least = 0;         // its 95 % interval
  double greatest = 0;
};

struct IndexedProject {
  ProjectId id;
  Points points;
  bool account_manager = false;  // the credit of its accounts is in the sums of other projects as well
  std::vector<std::uint64_t> shared_accounts{};  // users
  std::uint64_t complete = 0;                    // ProjectRow
  std::uint64_t whole = 0;
  double ended = 0;  // UNIX s: the last complete edition; 0: none
  PlaceRange users;
  PlaceRange hosts;
  PlaceRange teams;
  IndexedSum of_users;
  IndexedSum of_hosts;
  IndexedSum of_teams;
  std::uint32_t countries = 0;
  std::vector<SharedHosts> shared_hosts{};
};

// Entries and two orders of them: `by[HubRank]` has the same ranges as `all`, each in descending order of the value.
template <class Entry>
struct RankedEntries {
  std::vector<Entry> all;
  std::array<std::vector<Place>, 2> by;
};

class HubIndex {
 public:
  double as_of = 0;  // UNIX s: averages are decayed to it
  // The rows that it was built from. Accounts are read from them, so that all answers are of one moment: slots write their
  // state at different times, and an answer from the newest rows could show two editions of a project.
  std::shared_ptr<const Rows> leading;               // FEEDS and IDENTITY
  std::vector<std::shared_ptr<const Rows>> members;  // by partition
  std::vector<IndexedProject> projects;              // by id
  // By project, then id.
  RankedEntries<IndexedUser> users;
  RankedEntries<IndexedHost> hosts;
  RankedEntries<IndexedTeam> teams;
  std::vector<IndexedPerson> people;    // by total, descending
  std::vector<Place> people_by_recent;  // descending
  std::vector<Place> people_by_name;    // ascending
  std::vector<IndexedGroup> groups;     // by total, descending
  std::vector<Place> groups_by_recent;  // descending
  std::vector<Place> groups_by_key;     // ascending
  std::vector<IndexedCountry> countries;
  std::array<std::vector<Place>, 2> countries_by;  // without the first
  std::vector<Place> users_by_person;
  std::vector<Place> users_by_team;
  std::vector<Place> teams_by_group;  // by group, then total, descending
  std::vector<Place> hosts_by_cpid;   // those with an id
  std::string names;  // of users: Folded(), the first kLongestName bytes, each ended by a zero
  static constexpr std::size_t kLongestName = 48;

  // The partition that has the rows of accounts with this number.
  [[nodiscard]] const Rows& RowsOfAccount(ProjectId project, std::uint64_t id) const;
  // Kinds other than users, hosts and teams do not exist here.
  [[nodiscard]] const IndexedProject* FindProject(ProjectId project) const;
  [[nodiscard]] Place FindUser(ProjectId project, std::uint64_t id) const;
  [[nodiscard]] Place FindHost(ProjectId project, std::uint64_t id) const;
  [[nodiscard]] Place FindTeam(ProjectId project, std::uint64_t id) const;
  [[nodiscard]] Place FindGroup(const TeamNameKey& key) const;
  [[nodiscard]] std::span<const Place> AccountsOf(Place person) const;
  [[nodiscard]] std::span<const Place> MembersOf(Place team) const;
  [[nodiscard]] std::span<const Place> TeamsOf(Place group) const;
  [[nodiscard]] std::span<const Place> HostsOf(const federation::Cpid& cpid) const;
  // People whose name begins with `prefix` (Folded()), by name.
  [[nodiscard]] std::span<const Place> PeopleNamed(std::string_view prefix) const;
  // The total in Cobblestones.
  [[nodiscard]] credit::MicroTotal Cobblestones(const IndexedUser& user) const;
  [[nodiscard]] credit::MicroTotal Cobblestones(const IndexedHost& host) const;
  [[nodiscard]] credit::MicroTotal Cobblestones(const IndexedTeam& team) const;
  [[nodiscard]] std::string_view NameOf(const IndexedUser& user) const { return names.c_str() + user.name; }

  // 1 for the greatest. Equal values share a rank, and the next one counts them: 1, 2, 2, 4.
  [[nodiscard]] std::uint64_t UserRank(Place user, HubRank by) const;
  [[nodiscard]] std::uint64_t HostRank(Place host, HubRank by) const;
  [[nodiscard]] std::uint64_t TeamRank(Place team, HubRank by) const;
  [[nodiscard]] std::uint64_t PersonRank(Place person, HubRank by) const;
  [[nodiscard]] std::uint64_t GroupRank(Place group, HubRank by) const;
};

}  // namespace cobblestone::view
