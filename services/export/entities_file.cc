#include "services/export/entities_file.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "services/export/entities_index.h"
#include "services/export/entities_rows.h"

namespace cobblestone::exports {
namespace {

template <class Index>
auto FirstOf(const Index& index, std::int64_t id) {
  return std::lower_bound(index.begin(), index.end(), id,
                          [](const auto& entry, std::int64_t x) { return entry.id < x; });
}

}  // namespace

std::string EntitiesFile::Describe() const {
  return "file " + std::filesystem::path(file_.path()).filename().string() + ", " +
         std::to_string(file_.size()) + " bytes";
}

template <class Row, class Columns>
Status EntitiesFile::Read(const Entry& entry, const Columns& columns, Row* row) {
  const Place place = UnpackPlace(entry.place);
  const auto text = file_.Read(place.offset, place.length);
  if (!text.ok()) return text.status();
  const std::string error = ReadJsonRow(*text, columns, row);
  if (error.empty()) return Status::Ok();
  return Status::InvalidArgument(file_.path() + ", line " + std::to_string(file_.LineOf(place.offset)) +
                                 ": " + error);
}

template <class Row, class Columns>
Status EntitiesFile::ReadAll(const Index& index, const Columns& columns, const Take<Row>& take) {
  Row row;
  for (const Entry& entry : index) {
    if (Status status = Read(entry, columns, &row); !status.ok()) return status;
    if (Status status = take(row); !status.ok()) return status;
  }
  return Status::Ok();
}

template <class Row, class Columns>
Result<bool> EntitiesFile::Find(const Index& index, const Columns& columns, std::int64_t id, Row* row) {
  const auto entry = FirstOf(index, id);
  if (entry == index.end() || entry->id != id) return false;
  if (Status status = Read(*entry, columns, row); !status.ok()) return status;
  return true;
}

Status EntitiesFile::Users(const Take<User>& take) { return ReadAll(users_, kUserColumns, take); }
Status EntitiesFile::Teams(const Take<Team>& take) { return ReadAll(teams_, kTeamColumns, take); }
Status EntitiesFile::Hosts(const Take<Host>& take) { return ReadAll(hosts_, kHostColumns, take); }
Status EntitiesFile::UsersDeleted(const Take<Deleted>& take) {
  return ReadAll(users_deleted_, kUserDeletedColumns, take);
}
Status EntitiesFile::HostsDeleted(const Take<Deleted>& take) {
  return ReadAll(hosts_deleted_, kHostDeletedColumns, take);
}
Result<bool> EntitiesFile::FindUser(std::int64_t id, User* user) {
  return Find(users_, kUserColumns, id, user);
}
Result<bool> EntitiesFile::FindTeam(std::int64_t id, Team* team) {
  return Find(teams_, kTeamColumns, id, team);
}
Result<bool> EntitiesFile::FindHost(std::int64_t id, Host* host) {
  return Find(hosts_, kHostColumns, id, host);
}

Owner EntitiesFile::OwnerOf(std::int64_t user) {
  const auto entry = FirstOf(users_, user);
  if (entry == users_.end() || entry->id != user) return {};
  return {.exists = true, .shows_hosts = UnpackPlace(entry->place).flag};
}

Status EntitiesFile::Members(std::int64_t team, const Take<User>& take) {
  User user;
  for (auto member = std::lower_bound(members_.begin(), members_.end(), std::pair(team, INT64_MIN));
       member != members_.end() && member->first == team; ++member) {
    if (const auto found = FindUser(member->second, &user); !found.ok()) return found.status();
    if (Status status = take(user); !status.ok()) return status;
  }
  return Status::Ok();
}

template <class Columns>
Status EntitiesFile::ReadBadges(const Index& index, const Columns& columns, const Take<BadgeHeld>& take) {
  std::vector<BadgeHeld> of_holder;
  for (auto entry = index.begin(); entry != index.end();) {
    of_holder.clear();
    for (const std::int64_t holder = entry->id; entry != index.end() && entry->id == holder; ++entry) {
      if (Status status = Read(*entry, columns, &of_holder.emplace_back()); !status.ok()) return status;
    }
    std::stable_sort(of_holder.begin(), of_holder.end(),
                     [](const BadgeHeld& a, const BadgeHeld& b) { return a.badge < b.badge; });
    for (const BadgeHeld& badge : of_holder) {
      if (Status status = take(badge); !status.ok()) return status;
    }
  }
  return Status::Ok();
}

Status EntitiesFile::UserBadges(const Take<BadgeHeld>& take) {
  return ReadBadges(badge_user_, kBadgeUserColumns, take);
}
Status EntitiesFile::TeamBadges(const Take<BadgeHeld>& take) {
  return ReadBadges(badge_team_, kBadgeTeamColumns, take);
}

template <class Columns>
Status EntitiesFile::ReadCredit(const Index& index, const Columns& columns, std::int64_t holder,
                                std::vector<AppCredit>* credit) {
  credit->clear();
  for (auto entry = FirstOf(index, holder); entry != index.end() && entry->id == holder; ++entry) {
    if (Status status = Read(*entry, columns, &credit->emplace_back()); !status.ok()) return status;
  }
  std::stable_sort(credit->begin(), credit->end(), [](const AppCredit& a, const AppCredit& b) {
    return std::tie(a.app, a.credit_type) < std::tie(b.app, b.credit_type);
  });
  return Status::Ok();
}

Status EntitiesFile::CreditOfUser(std::int64_t user, std::vector<AppCredit>* credit) {
  return ReadCredit(credit_user_, kCreditUserColumns, user, credit);
}
Status EntitiesFile::CreditOfTeam(std::int64_t team, std::vector<AppCredit>* credit) {
  return ReadCredit(credit_team_, kCreditTeamColumns, team, credit);
}

template <class Columns>
Status EntitiesFile::ReadAllCredit(const Index& index, const Columns& columns, const Take<AppCredit>& take) {
  std::vector<AppCredit> of_holder;
  for (auto entry = index.begin(); entry != index.end();) {
    const std::int64_t holder = entry->id;
    if (Status status = ReadCredit(index, columns, holder, &of_holder); !status.ok()) return status;
    for (const AppCredit& credit : of_holder) {
      if (Status status = take(credit); !status.ok()) return status;
    }
    while (entry != index.end() && entry->id == holder) ++entry;
  }
  return Status::Ok();
}

Status EntitiesFile::UserCredit(const Take<AppCredit>& take) {
  return ReadAllCredit(credit_user_, kCreditUserColumns, take);
}
Status EntitiesFile::TeamCredit(const Take<AppCredit>& take) {
  return ReadAllCredit(credit_team_, kCreditTeamColumns, take);
}

Status EntitiesFile::Consents(const Take<ConsentGiven>& take) {
  for (const ConsentGiven& given : consent_) {
    if (Status status = take(given); !status.ok()) return status;
  }
  return Status::Ok();
}

bool EntitiesFile::HasTeam(std::int64_t id) const {
  const auto entry = FirstOf(teams_, id);
  return entry != teams_.end() && entry->id == id;
}

std::uint64_t EntitiesFile::LineIn(const Index& index, std::int64_t id) {
  const auto entry = FirstOf(index, id);
  return entry != index.end() && entry->id == id ? file_.LineOf(UnpackPlace(entry->place).offset) : 0;
}

std::uint32_t EntitiesFile::ConsentCopies(std::int64_t user) {
  const auto found =
      std::lower_bound(consent_.begin(), consent_.end(), user,
                       [](const ConsentGiven& copies, std::int64_t x) { return copies.user < x; });
  return found != consent_.end() && found->user == user ? found->copies : 0;
}

}  // namespace cobblestone::exports
