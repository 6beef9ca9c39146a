#include "services/stage/profile_rows.h"

#include "common/stream/calendar.h"

namespace cobblestone::wire {
namespace {

template <class Member>
auto ProfileIn(const Member& member) {
  auto shown = member.profile.value_or(typename decltype(member.profile)::value_type{.told = 0});
  if (member.profile) shown.told |= kHasProfile;
  return shown;
}

// The member's field stands in for one that the profile does not tell.
template <class Member, class Profile, class From, class To>
void StandIn(const Member& member, FieldMask field, const From& from, int number, To Profile::*to,
             Profile* shown) {
  if ((member.told & field) == 0 || (shown->told & FieldBit(number)) != 0) return;
  shown->told |= FieldBit(number);
  shown->*to = static_cast<To>(from);
}

}  // namespace

UserProfile ShownOf(const UserMember& member) {
  UserProfile shown = ProfileIn(member);
  StandIn(member, UserMember::kCreateTime, member.create_time, 1, &UserProfile::create_time, &shown);
  StandIn(member, UserMember::kCrossProjectId, member.cross_project_id, 2, &UserProfile::cpid, &shown);
  StandIn(member, UserMember::kCountry, member.country, 3, &UserProfile::country, &shown);
  return shown;
}

HostProfile ShownOf(const HostMember& member) {
  HostProfile shown = ProfileIn(member);
  StandIn(member, HostMember::kCreateTime, member.create_time, 1, &HostProfile::create_time, &shown);
  StandIn(member, HostMember::kCpus, member.cpus, 5, &HostProfile::p_ncpus, &shown);
  StandIn(member, HostMember::kWhetstone, member.whetstone, 8, &HostProfile::p_fpops, &shown);
  StandIn(member, HostMember::kDhrystone, member.dhrystone, 9, &HostProfile::p_iops, &shown);
  StandIn(member, HostMember::kCrossProjectId, member.cross_project_id, 22, &HostProfile::host_cpid, &shown);
  return shown;
}

TeamProfile ShownOf(const TeamMember& member) {
  TeamProfile shown = ProfileIn(member);
  StandIn(member, TeamMember::kCreateTime, member.create_time, 1, &TeamProfile::create_time, &shown);
  StandIn(member, TeamMember::kCountry, member.country, 7, &TeamProfile::country, &shown);
  return shown;
}

bool TakeFacts(const Word& word, AccountFacts facts, const stream::Key& key, stream::Table<FactsRow>& table) {
  static const FactsRow kNothing;
  const FactsRow* found = table.Find(key);
  const FactsRow& before = found != nullptr ? *found : kNothing;
  bool same_id = true;
  bool any = false;
  const auto counts = [&](bool told, const Word& earlier) {
    if (!told) return false;
    const Standing standing = StandingOf(word, earlier);
    same_id = same_id && standing != Standing::kOtherContents;
    any = any || standing == Standing::kNews;
    return standing == Standing::kNews;
  };
  const bool badges = counts(facts.badges.has_value(), before.badges_word);
  const bool credit = counts(facts.credit.has_value(), before.credit_word);
  const bool consent = counts(facts.consent.has_value(), before.consent_word);
  const bool tombstone = counts(facts.tombstone.has_value(), before.tombstone_word);
  if (!same_id) return false;
  if (!any) return true;
  FactsRow& row = table.Mutable(key);
  if (badges) {
    row.badges_word = word;
    row.badges = std::move(*facts.badges);
  }
  if (credit) {
    row.credit_word = word;
    row.credit = std::move(*facts.credit);
  }
  if (consent) {
    row.consent_word = word;
    row.consent = facts.consent;
  }
  if (tombstone) {
    row.tombstone_word = word;
    row.tombstone = std::move(facts.tombstone);
  }
  return true;
}

std::int32_t DayAfter(const Tombstone& tombstone) {
  return stream::DayOf(tombstone.time + kTombstoneTime) + 1;
}

bool TakeDeletion(const Word& word, bool deleted, std::string public_id, const stream::Key& key,
                  stream::Table<FactsRow>& table) {
  const FactsRow* before = table.Find(key);
  const bool is_news = before == nullptr || StandingOf(word, before->tombstone_word) == Standing::kNews;
  if (!deleted) {
    if (before == nullptr || !before->tombstone || !is_news) return false;
    FactsRow& row = table.Mutable(key);
    row.tombstone_word = word;
    row.tombstone.reset();
    return false;
  }
  const bool buries = !public_id.empty() && is_news && (before == nullptr || !before->tombstone);
  if (before == nullptr && !buries) return false;
  FactsRow& row = table.Mutable(key);
  if (StandingOf(word, row.badges_word) == Standing::kNews) {
    row.badges_word = word;
    row.badges.clear();
  }
  if (StandingOf(word, row.consent_word) == Standing::kNews) {
    row.consent_word = word;
    row.consent.reset();
  }
  if (!buries) return false;
  row.tombstone_word = word;
  row.tombstone = {.public_cross_project_id = std::move(public_id), .time = word.time};
  return true;
}

std::optional<std::int32_t> DropTombstone(std::int32_t today, const stream::Key& key,
                                          stream::Table<FactsRow>& table) {
  const FactsRow* row = table.Find(key);
  if (row == nullptr || !row->tombstone) return std::nullopt;
  const std::int32_t day = DayAfter(*row->tombstone);
  if (today <= day) return day;
  table.Mutable(key).tombstone.reset();
  return std::nullopt;
}

}  // namespace cobblestone::wire
