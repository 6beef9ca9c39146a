#include "services/view/hub/hub_index.h"

#include <openssl/evp.h>

#include <algorithm>

#include "common/base/check.h"
#include "common/wire/control/topics.h"

namespace cobblestone::view {

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <class Entry>
Place FindEntry(const std::vector<Entry>& all, PlaceRange range, std::uint64_t id) {
  const auto begin = all.begin() + range.begin;
  const auto end = all.begin() + range.end;
  const auto at = std::lower_bound(begin, end, id,
                                   [](const Entry& one, std::uint64_t wanted) { return one.id < wanted; });
  return at == end || at->id != id ? kNowhere : static_cast<Place>(at - all.begin());
}

// The total of an account in Cobblestones.
template <class Entry>
credit::MicroTotal TotalOf(const IndexedProject& project, const IndexedSum& sum, const Entry& account) {
  const auto at =
      std::lower_bound(sum.later_of.begin(), sum.later_of.end(), account.id,
                       [](const LaterCredit& one, std::uint64_t wanted) { return one.id < wanted; });
  const bool found = at != sum.later_of.end() && at->id == account.id;
  return project.points.OfTotal(account.total, found ? at->micro : 0);
}

// Rank of `value` among order[range], which is descending by value_of.
template <class Value, class ValueOf>
std::uint64_t RankIn(std::span<const Place> order, const Value& value, ValueOf&& value_of) {
  const auto at =
      std::partition_point(order.begin(), order.end(), [&](Place place) { return value_of(place) > value; });
  return static_cast<std::uint64_t>(at - order.begin()) + 1;
}

template <class Entry>
std::uint64_t AccountRank(const RankedEntries<Entry>& entries, PlaceRange range, Place place, HubRank by) {
  const std::span<const Place> order =
      std::span(entries.by[static_cast<std::size_t>(by)]).subspan(range.begin, range.size());
  if (by == HubRank::kTotal)
    return RankIn(order, entries.all[place].total, [&](Place one) { return entries.all[one].total; });
  return RankIn(order, entries.all[place].recent, [&](Place one) { return entries.all[one].recent; });
}

// For arrays that are themselves descending by total.
template <class Entry>
std::uint64_t SumRank(const std::vector<Entry>& all, const std::vector<Place>& by_recent, Place place,
                      HubRank by) {
  if (by == HubRank::kRecent)
    return RankIn(std::span(by_recent), all[place].recent, [&](Place one) { return all[one].recent; });
  const auto at = std::partition_point(all.begin(), all.end(),
                                       [&](const Entry& one) { return one.total > all[place].total; });
  return static_cast<std::uint64_t>(at - all.begin()) + 1;
}

std::uint64_t FirstBits(const federation::Cpid& cpid) { return cpid.high >> 16; }

}  // namespace

TeamNameKey TeamNameKeyOf(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  TeamNameKey key;
  COBBLESTONE_CHECK(::EVP_Digest(lower.data(), lower.size(), key.data(), nullptr, ::EVP_md5(), nullptr) == 1,
                    "MD5 of a name");
  return key;
}

std::string TeamNameKeyText(const TeamNameKey& key) {
  std::string text;
  for (const unsigned char byte : key) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::optional<TeamNameKey> ParseTeamNameKey(std::string_view hexadecimal) {
  TeamNameKey key;
  if (hexadecimal.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = HexValue(hexadecimal[2 * i]);
    const int low = HexValue(hexadecimal[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return key;
}

const IndexedProject* HubIndex::FindProject(ProjectId project) const {
  const auto at =
      std::lower_bound(projects.begin(), projects.end(), project,
                       [](const IndexedProject& one, ProjectId wanted) { return one.id < wanted; });
  return at == projects.end() || at->id != project ? nullptr : &*at;
}

Place HubIndex::FindUser(ProjectId project, std::uint64_t id) const {
  const IndexedProject* of = FindProject(project);
  return of == nullptr ? kNowhere : FindEntry(users.all, of->users, id);
}

Place HubIndex::FindHost(ProjectId project, std::uint64_t id) const {
  const IndexedProject* of = FindProject(project);
  return of == nullptr ? kNowhere : FindEntry(hosts.all, of->hosts, id);
}

Place HubIndex::FindTeam(ProjectId project, std::uint64_t id) const {
  const IndexedProject* of = FindProject(project);
  return of == nullptr ? kNowhere : FindEntry(teams.all, of->teams, id);
}

Place HubIndex::FindGroup(const TeamNameKey& key) const {
  const auto at =
      std::lower_bound(groups_by_key.begin(), groups_by_key.end(), key,
                       [&](Place one, const TeamNameKey& wanted) { return groups[one].key < wanted; });
  return at == groups_by_key.end() || groups[*at].key != key ? kNowhere : *at;
}

std::span<const Place> HubIndex::AccountsOf(Place person) const {
  const std::size_t begin = people[person].first;
  const std::size_t end = person + 1 < people.size() ? people[person + 1].first : users_by_person.size();
  return std::span(users_by_person).subspan(begin, end - begin);
}

const Rows& HubIndex::RowsOfAccount(ProjectId project, std::uint64_t id) const {
  return *members[wire::PartitionOf(project, id, static_cast<std::uint32_t>(members.size()))];
}

std::span<const Place> HubIndex::MembersOf(Place team) const {
  return std::span(users_by_team).subspan(teams.all[team].first_member, teams.all[team].members);
}

std::span<const Place> HubIndex::TeamsOf(Place group) const {
  return std::span(teams_by_group).subspan(groups[group].first, groups[group].teams);
}

std::span<const Place> HubIndex::HostsOf(const federation::Cpid& cpid) const {
  const std::uint64_t wanted = FirstBits(cpid);
  if (wanted == 0) return {};
  const auto begin = std::partition_point(hosts_by_cpid.begin(), hosts_by_cpid.end(),
                                          [&](Place one) { return hosts.all[one].cpid < wanted; });
  const auto end = std::partition_point(begin, hosts_by_cpid.end(),
                                        [&](Place one) { return hosts.all[one].cpid == wanted; });
  return {begin, end};
}

std::span<const Place> HubIndex::PeopleNamed(std::string_view prefix) const {
  prefix = prefix.substr(0, kLongestName);
  const auto head_of = [&](Place person) {
    return NameOf(users.all[people[person].shown]).substr(0, prefix.size());
  };
  const auto begin = std::partition_point(people_by_name.begin(), people_by_name.end(),
                                          [&](Place one) { return head_of(one) < prefix; });
  const auto end =
      std::partition_point(begin, people_by_name.end(), [&](Place one) { return head_of(one) == prefix; });
  return {begin, end};
}

credit::MicroTotal HubIndex::Cobblestones(const IndexedUser& user) const {
  const IndexedProject& project = projects[user.project];
  return TotalOf(project, project.of_users, user);
}

credit::MicroTotal HubIndex::Cobblestones(const IndexedHost& host) const {
  const IndexedProject& project = projects[host.project];
  return TotalOf(project, project.of_hosts, host);
}

credit::MicroTotal HubIndex::Cobblestones(const IndexedTeam& team) const {
  const IndexedProject& project = projects[team.project];
  return TotalOf(project, project.of_teams, team);
}

std::uint64_t HubIndex::UserRank(Place user, HubRank by) const {
  return AccountRank(users, projects[users.all[user].project].users, user, by);
}
std::uint64_t HubIndex::HostRank(Place host, HubRank by) const {
  return AccountRank(hosts, projects[hosts.all[host].project].hosts, host, by);
}
std::uint64_t HubIndex::TeamRank(Place team, HubRank by) const {
  return AccountRank(teams, projects[teams.all[team].project].teams, team, by);
}
std::uint64_t HubIndex::PersonRank(Place person, HubRank by) const {
  return SumRank(people, people_by_recent, person, by);
}
std::uint64_t HubIndex::GroupRank(Place group, HubRank by) const {
  return SumRank(groups, groups_by_recent, group, by);
}

}  // namespace cobblestone::view
