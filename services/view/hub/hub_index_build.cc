#include "services/view/hub/hub_index_build.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/stream/watermarks.h"
#include "common/wire/control/topics.h"
#include "services/feeds/feed_rows.h"
#include "services/feeds/feeds_stage.h"
#include "services/identity/identity_rows.h"
#include "services/members/member_rows.h"
#include "services/view/folded.h"
#include "services/view/hub/cobblestones.h"
#include "services/view/hub/shared_hosts.h"

namespace cobblestone::view {

namespace {

constexpr std::size_t kMostProjects = std::numeric_limits<std::uint16_t>::max();
constexpr std::size_t kMostAccounts = kNowhere - 1;
constexpr std::size_t kMostNameBytes = 0xF0000000;  // offsets have 32 bits
constexpr std::uint64_t kRowsBetweenLooks = 4096;

// The first bytes of a text, not ending within a character.
std::string_view FirstBytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (text[most] & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

Place PlaceOf(std::size_t n) { return static_cast<Place>(n); }

void Count(std::uint16_t* count) {
  if (*count < std::numeric_limits<std::uint16_t>::max()) ++*count;
}

// Sorts places by a value of each, then by place. The values are beside the places meanwhile: else each comparison would
// read two entries that are far apart in memory.
template <class ValueOf, class Before>
void SortByValue(std::span<Place> places, ValueOf&& value_of, Before&& before) {
  struct Valued {
    std::invoke_result_t<ValueOf, Place> value;
    Place place;
  };
  std::vector<Valued> valued;
  valued.reserve(places.size());
  for (const Place place : places) valued.push_back({value_of(place), place});
  std::sort(valued.begin(), valued.end(), [&](const Valued& a, const Valued& b) {
    return a.value != b.value ? before(a.value, b.value) : a.place < b.place;
  });
  for (std::size_t n = 0; n < valued.size(); ++n) places[n] = valued[n].place;
}

// Places of users by project and id. Each project's users are divided into about as many parts by the first bits of their ids,
// so that a search reads one or two users where a binary search over all of them reads twenty.
class UserPlaces {
 public:
  explicit UserPlaces(const HubIndex& index) : users_(index.users.all) {
    for (const IndexedProject& project : index.projects) parts_.push_back(Divide(project.users));
  }

  [[nodiscard]] Place Find(std::size_t project, std::uint64_t id) const {
    const Parts& parts = parts_[project];
    const std::uint64_t part = id >> parts.shift;
    if (part + 1 >= parts.begins.size()) return kNowhere;
    const auto begin = users_.begin() + parts.begins[part];
    const auto end = users_.begin() + parts.begins[part + 1];
    const auto at = std::lower_bound(
        begin, end, id, [](const IndexedUser& user, std::uint64_t wanted) { return user.id < wanted; });
    return at == end || at->id != id ? kNowhere : PlaceOf(static_cast<std::size_t>(at - users_.begin()));
  }

 private:
  struct Parts {
    int shift = 0;
    std::vector<Place> begins;  // of each part, and the end of the last
  };

  [[nodiscard]] Parts Divide(PlaceRange range) const {
    Parts parts;
    if (range.size() == 0) return parts;
    const std::uint64_t last = users_[range.end - 1].id;
    while (last >> parts.shift > 2 * std::uint64_t{range.size()}) ++parts.shift;
    parts.begins.reserve((last >> parts.shift) + 2);
    for (Place user = range.begin; user < range.end; ++user)
      while (parts.begins.size() <= users_[user].id >> parts.shift) parts.begins.push_back(user);
    parts.begins.push_back(range.end);
    return parts;
  }

  const std::vector<IndexedUser>& users_;
  std::vector<Parts> parts_;  // by project
};

class HubIndexBuild {
 public:
  HubIndexBuild(const HubRows& rows, double now, const std::function<bool()>& stopped)
      : rows_(rows), now_(now), stopped_(stopped), index_(std::make_shared<HubIndex>()) {
    index_->as_of = now;
    index_->leading = rows.leading;
    index_->members = rows.members;
    index_->names.push_back('\0');
    index_->countries.emplace_back();
  }

  Result<std::shared_ptr<const HubIndex>> Build(const HubIndex* before) {
    if (before != nullptr) Reserve(*before);
    if (Status s = ReadProjects(); !s.ok()) return s;
    if (Status s = ReadTeams(); !s.ok()) return s;
    if (Status s = ReadUsers(); !s.ok()) return s;
    if (Status s = ReadHosts(); !s.ok()) return s;
    CompareSharedHosts(*index_);
    if (Status s = FindPeople(); !s.ok()) return s;
    user_places_.reset();
    AddPeople();
    SortPeople();
    AddMembers();
    AddGroups();
    AddCountries();
    if (stopped_()) return Stopped();
    return std::shared_ptr<const HubIndex>(std::move(index_));
  }

 private:
  static Status Stopped() { return Status::Retry("the index of accounts is not needed any more"); }

  // Vectors that grow hold up to three times their size for a moment.
  void Reserve(const HubIndex& before) {
    const auto like = [](auto& vector, std::size_t size) { vector.reserve(size + size / 50); };
    like(index_->users.all, before.users.all.size());
    like(index_->hosts.all, before.hosts.all.size());
    like(index_->teams.all, before.teams.all.size());
    like(index_->people, before.people.size());
    like(index_->names, before.names.size());
  }

  Status ReadProjects() {
    Status read = ForEach(*rows_.leading, feeds::kProjectsTable,
                          [&](const stream::Key& key, const feeds::ProjectRow& row) {
                            index_->projects.push_back({.id = ProjectId(key.project),
                                                        .points = PointsOf(row.project),
                                                        .account_manager = row.project.account_manager,
                                                        .shared_accounts = row.project.shared_accounts,
                                                        .complete = row.complete,
                                                        .whole = row.whole});
                            return Status::Ok();
                          });
    if (!read.ok()) return read;
    if (index_->projects.size() > kMostProjects)
      return Status::Fatal("a hub has at most " + std::to_string(kMostProjects) + " projects");
    std::sort(index_->projects.begin(), index_->projects.end(),
              [](const IndexedProject& a, const IndexedProject& b) { return a.id < b.id; });
    // Not while the table is read: rows may be locked meanwhile.
    for (IndexedProject& project : index_->projects) {
      const auto edition =
          Find(*rows_.leading, feeds::kEditionsTable, feeds::EditionKey(project.id, project.complete));
      if (!edition.ok()) return edition.status();
      if (*edition) project.ended = (*edition)->ended.time;
    }
    return Status::Ok();
  }

  // The tables of a kind of account, and its sums.
  struct Accounts {
    stream::TableSpec<members::MemberRow> rows;
    stream::TableSpec<credit::DayBlock<credit::DaySum>> days;
    IndexedSum IndexedProject::*sum;
  };
  static constexpr Accounts kUsers{members::kUsersTable, members::kUserDaysTable, &IndexedProject::of_users};
  static constexpr Accounts kHosts{members::kHostsTable, members::kHostDaysTable, &IndexedProject::of_hosts};
  static constexpr Accounts kTeams{members::kTeamsTable, members::kTeamDaysTable, &IndexedProject::of_teams};

  // Of each project whose points count since a day: the credit of accounts of that day and later that is not in their rows.
  using OlderCredit = std::map<const IndexedProject*, std::unordered_map<std::uint64_t, credit::MicroTotal>>;

  // What `days` of a slot has of it, in scans of its own: rows may be locked while another table is read.
  Status ReadOlder(const Rows& slot, const stream::TableSpec<credit::DayBlock<credit::DaySum>>& days,
                   OlderCredit* older) {
    older->clear();
    std::uint64_t visited = 0;
    credit::DayBlock<credit::DaySum> block;
    for (const IndexedProject& project : index_->projects) {
      if (!project.points.dated()) continue;
      auto& of = (*older)[&project];
      const auto first = static_cast<std::uint64_t>(credit::BlockOf(project.points.since));
      Status read = slot.ScanProject(days.id, project.id,
                                     [&](const stream::Key& key, std::string_view bytes) -> Status {
                                       if (++visited % kRowsBetweenLooks == 0 && stopped_()) return Stopped();
                                       if (key.sub < first) return Status::Ok();
                                       if (Status s = stream::DecodeRow(days, bytes, block); !s.ok())
                                         return s;
                                       if (const auto later = project.points.LaterOf(block.days); later != 0)
                                         of[key.id] += later;
                                       return Status::Ok();
                                     });
      if (!read.ok()) return read;
    }
    return Status::Ok();
  }

  // Adds the account's part of its project's later credit, without what readers do not see yet.
  static void AddLater(const IndexedProject& project, std::uint64_t id, const members::MemberRow& row,
                       const OlderCredit& older, IndexedSum* sum) {
    credit::MicroTotal later = project.points.LaterOf(row.days);
    const credit::DaySum hidden = members::HiddenOf(row, project.complete);
    if (hidden.day >= project.points.since) later -= hidden.micro;
    const auto& of = older.at(&project);
    if (const auto more = of.find(id); more != of.end()) later += more->second;
    if (later == 0) return;
    sum->later += later;
    sum->later_of.push_back({.id = id, .micro = later});
  }

  // Visits every account of the kind as readers see it: each(project's place, its id, the account).
  template <class Each>
  Status ForEachSeen(const Accounts& kind, Each&& each) {
    std::uint64_t visited = 0;
    IndexedProject* of = nullptr;
    OlderCredit older;
    for (const auto& slot : rows_.members) {
      if (Status s = ReadOlder(*slot, kind.days, &older); !s.ok()) return s;
      Status read = ForEach(*slot, kind.rows, [&](const stream::Key& key, const members::MemberRow& row) {
        if (++visited % kRowsBetweenLooks == 0 && stopped_()) return Stopped();
        if (of == nullptr || of->id.value != key.project) of = FindProject(ProjectId(key.project));
        if (of == nullptr) return Status::Ok();  // the project was registered a moment ago
        if (row.now.edition > of->complete && row.before && row.before->edition > of->complete)
          return Status::Retry("the rows of accounts are newer than those of editions; try again");
        const wire::FeedAccount* seen = members::SeenOf(row, of->complete, of->whole);
        if (seen == nullptr) return Status::Ok();
        if (of->points.dated()) AddLater(*of, key.id, row, older, &(of->*kind.sum));
        return each(PlaceOf(static_cast<std::size_t>(of - index_->projects.data())), key.id, *seen);
      });
      if (!read.ok()) return read;
    }
    for (IndexedProject& project : index_->projects) {
      auto& later = (project.*kind.sum).later_of;
      std::sort(later.begin(), later.end(),
                [](const LaterCredit& a, const LaterCredit& b) { return a.id < b.id; });
    }
    return Status::Ok();
  }

  [[nodiscard]] IndexedProject* FindProject(ProjectId project) {
    const IndexedProject* found = index_->FindProject(project);
    return found == nullptr ? nullptr
                            : &index_->projects[static_cast<std::size_t>(found - index_->projects.data())];
  }

  template <class Entry>
  Status AddEntry(RankedEntries<Entry>& entries, Entry entry) {
    if (entries.all.size() >= kMostAccounts)
      return Status::Fatal("a hub has at most " + std::to_string(kMostAccounts) + " accounts of a kind");
    entries.all.push_back(std::move(entry));
    return Status::Ok();
  }

  [[nodiscard]] double RecentNow(const wire::FeedAccount& account) const {
    const double recent = credit::DecayedAverage({.value = account.recent, .time = account.recent_time}, now_,
                                                 credit::kRecentAverageHalfLife);
    return std::isfinite(recent) && recent > 0 ? recent : 0;
  }

  // Sorts all entries, and sets each project's range and sum.
  template <class Entry>
  void Sort(RankedEntries<Entry>& entries, PlaceRange IndexedProject::*range,
            IndexedSum IndexedProject::*sum) {
    std::sort(entries.all.begin(), entries.all.end(), [](const Entry& a, const Entry& b) {
      return a.project != b.project ? a.project < b.project : a.id < b.id;
    });
    Place at = 0;
    for (std::size_t p = 0; p < index_->projects.size(); ++p) {
      IndexedProject& project = index_->projects[p];
      PlaceRange& of = project.*range;
      of.begin = at;
      for (; at < entries.all.size() && entries.all[at].project == p; ++at) {
        (project.*sum).total += entries.all[at].total;
        (project.*sum).recent += entries.all[at].recent;
      }
      of.end = at;
    }
    for (std::vector<Place>& order : entries.by) {
      order.resize(entries.all.size());
      std::iota(order.begin(), order.end(), Place{0});
    }
    const auto& all = entries.all;
    for (const IndexedProject& project : index_->projects) {
      const PlaceRange of = project.*range;
      const auto order = [&](HubRank by, auto&& value_of) {
        SortByValue(std::span(entries.by[static_cast<std::size_t>(by)]).subspan(of.begin, of.size()),
                    value_of, std::greater<>());
      };
      order(HubRank::kTotal, [&](Place one) { return all[one].total; });
      order(HubRank::kRecent, [&](Place one) { return all[one].recent; });
    }
  }

  Status ReadTeams() {
    Status read = ForEachSeen(kTeams, [&](Place p, std::uint64_t id, const wire::FeedAccount& seen) {
      IndexedTeam team{.id = id,
                       .total = seen.total_micro,
                       .recent = RecentNow(seen),
                       .project = static_cast<std::uint16_t>(p)};
      if (!seen.name.empty()) team.group = GroupOf(seen.name);
      return AddEntry(index_->teams, std::move(team));
    });
    if (!read.ok()) return read;
    Sort(index_->teams, &IndexedProject::teams, &IndexedProject::of_teams);
    return Status::Ok();
  }

  Place GroupOf(const std::string& name) {
    const TeamNameKey key = TeamNameKeyOf(name);
    const auto [at, is_new] = groups_.try_emplace(key, PlaceOf(index_->groups.size()));
    if (is_new) index_->groups.push_back({.key = key});
    return at->second;
  }

  std::uint16_t CountryOf(const std::string& name) {
    if (name.empty() || name == "None") return 0;
    const auto known = country_numbers_.find(name);
    if (known != country_numbers_.end()) return known->second;
    if (index_->countries.size() >= kMostCountries) return 0;
    const auto number = static_cast<std::uint16_t>(index_->countries.size());
    index_->countries.push_back({.name = name});
    country_numbers_.emplace(name, number);
    return number;
  }

  std::uint32_t AddName(const std::string& name) {
    if (name.empty() || index_->names.size() > kMostNameBytes) return 0;
    const auto offset = static_cast<std::uint32_t>(index_->names.size());
    std::string folded = Folded(name);
    std::replace(folded.begin(), folded.end(), '\0', ' ');
    index_->names += FirstBytes(folded, HubIndex::kLongestName);
    index_->names += '\0';
    return offset;
  }

  Status ReadUsers() {
    Status read = ForEachSeen(kUsers, [&](Place p, std::uint64_t id, const wire::FeedAccount& seen) {
      IndexedUser user{.id = id,
                       .total = seen.total_micro,
                       .recent = RecentNow(seen),
                       .created = CreatedOf(seen.create_time),
                       .name = AddName(seen.name),
                       .country = CountryOf(seen.country),
                       .project = static_cast<std::uint16_t>(p)};
      if (seen.team != 0) user.team = index_->FindTeam(index_->projects[p].id, seen.team);
      return AddEntry(index_->users, std::move(user));
    });
    if (!read.ok()) return read;
    Sort(index_->users, &IndexedProject::users, &IndexedProject::of_users);
    user_places_.emplace(*index_);
    for (IndexedProject& project : index_->projects) {
      std::vector<bool> found(index_->countries.size());
      for (Place user = project.users.begin; user < project.users.end; ++user)
        found[index_->users.all[user].country] = true;
      project.countries = static_cast<std::uint32_t>(std::count(found.begin() + 1, found.end(), true));
    }
    return Status::Ok();
  }

  static std::uint32_t CreatedOf(double time) {
    return time >= 1 && time < std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(time)
                                                                         : 0;
  }

  Status ReadHosts() {
    Status read = ForEachSeen(kHosts, [&](Place p, std::uint64_t id, const wire::FeedAccount& seen) {
      const auto cpid = federation::ParseCpid(seen.cross_project_id);
      const IndexedHost host{.id = id,
                             .total = seen.total_micro,
                             .recent = RecentNow(seen),
                             .cpid = cpid ? cpid->high >> 16 : 0,
                             .project = p};
      if (seen.owner != 0) {
        const Place owner = user_places_->Find(p, seen.owner);
        if (owner != kNowhere) Count(&index_->users.all[owner].hosts);
        if (owner != kNowhere && host.recent >= kUsedRecent) Count(&index_->users.all[owner].used_hosts);
      }
      return AddEntry(index_->hosts, host);
    });
    if (!read.ok()) return read;
    Sort(index_->hosts, &IndexedProject::hosts, &IndexedProject::of_hosts);
    SortHostsByCpid();
    return Status::Ok();
  }

  // In parts by the first bits of the ids, which are random: a part fits into the processor's cache.
  void SortHostsByCpid() {
    constexpr int kPartBits = 12;
    constexpr int kShift = 48 - kPartBits;
    const auto& all = index_->hosts.all;
    std::vector<Place> next((std::size_t{1} << kPartBits) + 1);
    for (const IndexedHost& host : all)
      if (host.cpid != 0) ++next[(host.cpid >> kShift) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    index_->hosts_by_cpid.resize(next.back());
    for (std::size_t host = 0; host < all.size(); ++host)
      if (all[host].cpid != 0) index_->hosts_by_cpid[next[all[host].cpid >> kShift]++] = PlaceOf(host);
    // Each part now begins where the one before it ends.
    Place begin = 0;
    for (std::size_t part = 0; part + 1 < next.size(); begin = next[part++])
      SortByValue(
          std::span(index_->hosts_by_cpid).subspan(begin, next[part] - begin),
          [&](Place one) { return std::uint64_t{all[one].cpid}; }, std::less<>());
  }

  // The user with this number and creation time, unless it is shared.
  Place CountedUser(const federation::AccountKey& key) const {
    const IndexedProject* project = index_->FindProject(ProjectId(key.project));
    if (project == nullptr) return kNowhere;
    const Place user =
        user_places_->Find(static_cast<std::size_t>(project - index_->projects.data()), key.user);
    if (user == kNowhere || index_->users.all[user].created != key.create_time) return kNowhere;
    return leader_[user] == kNowhere ? kNowhere : user;
  }

  // Sets leader_: for each user the user who stands for the person; nowhere for shared accounts.
  Status FindPeople() {
    leader_.resize(index_->users.all.size());
    std::iota(leader_.begin(), leader_.end(), Place{0});
    for (std::size_t project = 0; project < index_->projects.size(); ++project)
      for (const std::uint64_t id : index_->projects[project].shared_accounts)
        if (const Place user = user_places_->Find(project, id); user != kNowhere) leader_[user] = kNowhere;
    // Identities whose eldest account is not exported, or is shared.
    std::map<federation::AccountKey, Place> headless;
    std::uint64_t visited = 0;
    return ForEach(
        *rows_.leading, identity::kUsersTable, [&](const stream::Key& key, const federation::UserRow& row) {
          if (++visited % kRowsBetweenLooks == 0 && stopped_()) return Stopped();
          for (const federation::AccountRow& account : row.accounts) {
            const Place user =
                CountedUser({.project = key.project, .user = key.id, .create_time = account.create_time});
            if (user == kNowhere || account.edges.empty()) continue;
            const Place eldest = CountedUser(account.identity);
            leader_[user] =
                eldest != kNowhere ? eldest : headless.try_emplace(account.identity, user).first->second;
          }
          return Status::Ok();
        });
  }

  void AddPeople() {
    std::vector<Place> person_of(leader_.size(), kNowhere);
    for (std::size_t at = 0; at < leader_.size(); ++at) {
      IndexedUser& user = index_->users.all[at];
      if (leader_[at] == kNowhere) continue;
      Place& person = person_of[leader_[at]];
      if (person == kNowhere) {
        person = PlaceOf(index_->people.size());
        index_->people.push_back({.shown = leader_[at], .country = index_->users.all[leader_[at]].country});
      }
      user.person = person;
      IndexedPerson& sum = index_->people[person];
      sum.total += index_->Cobblestones(user);
      sum.recent += index_->projects[user.project].points.OfRecent(user.recent, now_);
    }
    leader_ = {};
  }

  // By total: a person's place changes. Then everything that refers to people.
  void SortPeople() {
    auto& people = index_->people;
    std::vector<Place> order(people.size());
    std::iota(order.begin(), order.end(), Place{0});
    std::sort(order.begin(), order.end(), [&](Place a, Place b) {
      return people[a].total != people[b].total ? people[a].total > people[b].total
                                                : people[a].shown < people[b].shown;
    });
    std::vector<Place> place_of(people.size());
    std::vector<IndexedPerson> sorted(people.size());
    for (std::size_t n = 0; n < order.size(); ++n) {
      place_of[order[n]] = PlaceOf(n);
      sorted[n] = people[order[n]];
    }
    people = std::move(sorted);
    std::vector<Place> next(people.size() + 1);
    for (IndexedUser& user : index_->users.all) {
      if (user.person == kNowhere) continue;
      user.person = place_of[user.person];
      ++next[user.person + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t n = 0; n < people.size(); ++n) people[n].first = next[n];
    index_->users_by_person.resize(next.back());
    const auto& users = index_->users.all;
    for (std::size_t user = 0; user < users.size(); ++user)  // ascending, so by project within a person
      if (users[user].person != kNowhere) index_->users_by_person[next[users[user].person]++] = PlaceOf(user);
    for (std::size_t n = 0; n < people.size(); ++n) people[n].projects = ProjectsOf(PlaceOf(n));
    index_->people_by_recent = std::move(order);
    std::iota(index_->people_by_recent.begin(), index_->people_by_recent.end(), Place{0});
    SortByValue(
        std::span(index_->people_by_recent), [&](Place one) { return people[one].recent; }, std::greater<>());
    index_->people_by_name = std::move(place_of);
    SortByName();
  }

  // Most names differ in their first bytes, which are beside the place in the sorted list: a comparison then reads neither
  // person, user nor name.
  void SortByName() {
    struct Named {
      std::uint64_t begin = 0;  // big-endian; a name has no zeros, so a shorter one is less, as it should be
      Place person = 0;
    };
    const auto name_of = [&](Place person) {
      return index_->NameOf(index_->users.all[index_->people[person].shown]);
    };
    std::vector<Named> named(index_->people.size());
    for (std::size_t n = 0; n < named.size(); ++n) {
      named[n].person = PlaceOf(n);
      const std::string_view name = name_of(PlaceOf(n));
      for (std::size_t i = 0; i < sizeof named[n].begin; ++i)
        named[n].begin = named[n].begin << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0u);
    }
    std::sort(named.begin(), named.end(), [&](const Named& a, const Named& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      const int order = name_of(a.person).compare(name_of(b.person));
      return order != 0 ? order < 0 : a.person < b.person;
    });
    for (std::size_t n = 0; n < named.size(); ++n) index_->people_by_name[n] = named[n].person;
  }

  [[nodiscard]] std::uint16_t ProjectsOf(Place person) const {
    std::uint16_t count = 0;
    Place last = kNowhere;
    for (const Place user : index_->AccountsOf(person)) {
      if (index_->users.all[user].project != last) Count(&count);
      last = index_->users.all[user].project;
    }
    return count;
  }

  void AddMembers() {
    auto& teams = index_->teams.all;
    for (const IndexedUser& user : index_->users.all)
      if (user.team != kNowhere) ++teams[user.team].members;
    std::vector<Place> next(teams.size());
    Place at = 0;
    for (std::size_t n = 0; n < teams.size(); ++n) {
      next[n] = teams[n].first_member = at;
      at += teams[n].members;
    }
    index_->users_by_team.resize(at);
    for (std::size_t user = 0; user < index_->users.all.size(); ++user)
      if (const Place team = index_->users.all[user].team; team != kNowhere)
        index_->users_by_team[next[team]++] = PlaceOf(user);
  }

  void AddGroups() {
    auto& groups = index_->groups;
    auto& teams = index_->teams.all;
    for (const IndexedTeam& team : teams) {
      if (team.group == kNowhere) continue;
      IndexedGroup& group = groups[team.group];
      group.total += index_->Cobblestones(team);
      group.recent += index_->projects[team.project].points.OfRecent(team.recent, now_);
      group.members += team.members;
      ++group.teams;
    }
    std::vector<Place> order(groups.size());
    std::iota(order.begin(), order.end(), Place{0});
    std::sort(order.begin(), order.end(), [&](Place a, Place b) {
      return groups[a].total != groups[b].total ? groups[a].total > groups[b].total
                                                : groups[a].key < groups[b].key;
    });
    std::vector<IndexedGroup> sorted(groups.size());
    std::vector<Place> place_of(groups.size());
    Place first = 0;
    for (std::size_t n = 0; n < order.size(); ++n) {
      place_of[order[n]] = PlaceOf(n);
      sorted[n] = groups[order[n]];
      sorted[n].first = first;
      first += sorted[n].teams;
    }
    groups = std::move(sorted);
    for (std::size_t n = 0; n < teams.size(); ++n) {
      if (teams[n].group == kNowhere) continue;
      teams[n].group = place_of[teams[n].group];
      index_->teams_by_group.push_back(PlaceOf(n));
    }
    std::sort(index_->teams_by_group.begin(), index_->teams_by_group.end(), [&](Place a, Place b) {
      if (teams[a].group != teams[b].group) return teams[a].group < teams[b].group;
      const auto total_a = index_->Cobblestones(teams[a]);
      const auto total_b = index_->Cobblestones(teams[b]);
      return total_a != total_b ? total_a > total_b : a < b;
    });
    for (IndexedGroup& group : groups) group.shown = index_->teams_by_group[group.first];
    std::iota(order.begin(), order.end(), Place{0});
    index_->groups_by_key = order;
    std::sort(index_->groups_by_key.begin(), index_->groups_by_key.end(),
              [&](Place a, Place b) { return groups[a].key < groups[b].key; });
    std::sort(order.begin(), order.end(), [&](Place a, Place b) {
      return groups[a].recent != groups[b].recent ? groups[a].recent > groups[b].recent : a < b;
    });
    index_->groups_by_recent = std::move(order);
  }

  void AddCountries() {
    auto& countries = index_->countries;
    for (const IndexedPerson& person : index_->people) {
      IndexedCountry& country = countries[person.country];
      country.total += person.total;
      country.recent += person.recent;
      ++country.people;
    }
    std::vector<Place> shown;
    for (std::size_t n = 1; n < countries.size(); ++n)
      if (countries[n].people > 0) shown.push_back(PlaceOf(n));
    const auto by = [&](HubRank rank, auto&& greater) {
      std::vector<Place>& order = index_->countries_by[static_cast<std::size_t>(rank)];
      order = shown;
      std::sort(order.begin(), order.end(), [&](Place a, Place b) {
        if (greater(countries[a], countries[b])) return true;
        return !greater(countries[b], countries[a]) && countries[a].name < countries[b].name;
      });
    };
    by(HubRank::kTotal, [](const auto& a, const auto& b) { return a.total > b.total; });
    by(HubRank::kRecent, [](const auto& a, const auto& b) { return a.recent > b.recent; });
  }

  const HubRows& rows_;
  const double now_;
  const std::function<bool()>& stopped_;
  std::shared_ptr<HubIndex> index_;
  std::map<TeamNameKey, Place> groups_;
  std::unordered_map<std::string, std::uint16_t> country_numbers_;
  std::optional<UserPlaces> user_places_;  // from ReadUsers() to FindPeople()
  std::vector<Place> leader_;
};

// How many of the barriers and ticks of FEEDS the rows of a MEMBERS partition have passed.
Result<std::uint64_t> PassedBy(const Rows& members) {
  const auto row = Find(members, members::kWatermarksTable, stream::Key{});
  if (!row.ok()) return row.status();
  return *row ? (*row)->passed : 0;
}

Result<std::uint64_t> PositionOf(State& state, Stage stage, std::uint32_t partition, const Rows& rows,
                                 wire::Topic topic) {
  const auto meta = rows.Meta();
  if (!meta.ok()) return meta.status();
  const auto inputs = state.InputsOf(stage, partition);
  for (std::size_t n = 0; n < inputs.size() && n < meta->next.size(); ++n)
    if (inputs[n].topic == topic) return meta->next[n];
  return std::uint64_t{0};
}

Status AddEditions(const Rows& leading, double now, std::string* text) {
  return ForEach(leading, feeds::kProjectsTable, [&](const stream::Key& key, const feeds::ProjectRow& row) {
    const Points points = PointsOf(row.project);
    *text += std::to_string(key.project) + ' ' + std::to_string(row.complete) + ' ' +
             std::to_string(row.whole) + ' ' + std::to_string(points.per_cobblestone) + ' ' +
             std::to_string(points.since) + (credit::DayOf(now) < points.since ? " later" : "") +
             (row.project.account_manager ? " manager" : "");
    for (const std::uint64_t user : row.project.shared_accounts) *text += " shared " + std::to_string(user);
    *text += '\n';
    return Status::Ok();
  });
}

}  // namespace

Result<HubRows> ReadHubRows(State& state, double now) {
  HubRows rows;
  // FEEDS first: rows of MEMBERS that are newer have the older version of an account, too.
  auto leading = state.Of(Stage::kCoordinator, 0);
  if (!leading.ok()) return leading.status();
  rows.leading = std::move(*leading);
  const auto relay = Find(*rows.leading, feeds::kRelayTable, stream::Key{});
  if (!relay.ok()) return relay.status();
  const std::uint64_t sent = *relay ? (*relay)->watermarks : 0;
  for (std::uint32_t partition = 0; partition < state.partitions(); ++partition) {
    auto members = state.Of(Stage::kAccounts, partition);
    if (!members.ok()) return members.status();
    const auto passed = PassedBy(**members);
    if (!passed.ok()) return passed.status();
    if (*passed < sent)
      return Status::Retry(
          "the state on disk of accounts is older than that of editions; try again in a moment");
    for (const wire::Topic topic : {wire::kHosts, wire::kUsers, wire::kTeams}) {
      const auto position = PositionOf(state, Stage::kAccounts, partition, **members, topic);
      if (!position.ok()) return position.status();
      rows.positions.push_back(*position);
    }
    rows.members.push_back(std::move(*members));
  }
  const auto facts = PositionOf(state, Stage::kCoordinator, 0, *rows.leading, wire::kIdentityFacts);
  if (!facts.ok()) return facts.status();
  rows.editions = std::to_string(*facts) + "\n";
  if (Status s = AddEditions(*rows.leading, now, &rows.editions); !s.ok()) return s;
  return rows;
}

Result<std::shared_ptr<const HubIndex>> BuildHubIndex(const HubRows& rows, double now, const HubIndex* before,
                                                      const std::function<bool()>& stopped) {
  return HubIndexBuild(rows, now, stopped).Build(before);
}

}  // namespace cobblestone::view
