#include "services/stage/profile_rows.h"

#include "common/stream/calendar.h"

namespace cobblestone::stage {

using wire::AccountFacts;
using wire::CompareStamps;
using wire::EventStamp;
using wire::FieldBit;
using wire::FieldMask;
using wire::HostMember;
using wire::HostProfile;
using wire::StampOrder;
using wire::TeamMember;
using wire::TeamProfile;
using wire::Tombstone;
using wire::UserMember;
using wire::UserProfile;

namespace {

template <class Member>
auto ProfileIn(const Member& member) {
  auto shown = member.profile.value_or(typename decltype(member.profile)::value_type{.present = 0});
  if (member.profile) shown.present |= kHasProfile;
  return shown;
}

// Sets a field that the profile lacks from the member's own field.
template <class Member, class Profile, class From, class To>
void StandIn(const Member& member, FieldMask field, const From& from, int number, To Profile::*to,
             Profile* shown) {
  if ((member.present & field) == 0 || (shown->present & FieldBit(number)) != 0) return;
  shown->present |= FieldBit(number);
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

bool TakeFacts(const EventStamp& stamp, AccountFacts facts, const stream::Key& key,
               stream::Table<FactsRow>& table) {
  static const FactsRow kNothing;
  const FactsRow* found = table.Find(key);
  const FactsRow& before = found != nullptr ? *found : kNothing;
  bool same_id = true;
  bool any = false;
  const auto counts = [&](bool present, const EventStamp& earlier) {
    if (!present) return false;
    const StampOrder standing = CompareStamps(stamp, earlier);
    same_id = same_id && standing != StampOrder::kOtherContents;
    any = any || standing == StampOrder::kNewer;
    return standing == StampOrder::kNewer;
  };
  const bool badges = counts(facts.badges.has_value(), before.badges_stamp);
  const bool credit = counts(facts.credit.has_value(), before.credit_stamp);
  const bool consent = counts(facts.consent.has_value(), before.consent_stamp);
  const bool tombstone = counts(facts.tombstone.has_value(), before.tombstone_stamp);
  if (!same_id) return false;
  if (!any) return true;
  FactsRow& row = table.Mutable(key);
  if (badges) {
    row.badges_stamp = stamp;
    row.badges = std::move(*facts.badges);
  }
  if (credit) {
    row.credit_stamp = stamp;
    row.credit = std::move(*facts.credit);
  }
  if (consent) {
    row.consent_stamp = stamp;
    row.consent = facts.consent;
  }
  if (tombstone) {
    row.tombstone_stamp = stamp;
    row.tombstone = std::move(facts.tombstone);
  }
  return true;
}

std::int32_t DayAfter(const Tombstone& tombstone) {
  return stream::DayOf(tombstone.time + kTombstoneTime) + 1;
}

bool TakeDeletion(const EventStamp& stamp, bool deleted, std::string public_id, const stream::Key& key,
                  stream::Table<FactsRow>& table) {
  const FactsRow* before = table.Find(key);
  const bool is_news =
      before == nullptr || CompareStamps(stamp, before->tombstone_stamp) == StampOrder::kNewer;
  if (!deleted) {
    if (before == nullptr || !before->tombstone || !is_news) return false;
    FactsRow& row = table.Mutable(key);
    row.tombstone_stamp = stamp;
    row.tombstone.reset();
    return false;
  }
  const bool buries = !public_id.empty() && is_news && (before == nullptr || !before->tombstone);
  if (before == nullptr && !buries) return false;
  FactsRow& row = table.Mutable(key);
  if (CompareStamps(stamp, row.badges_stamp) == StampOrder::kNewer) {
    row.badges_stamp = stamp;
    row.badges.clear();
  }
  if (CompareStamps(stamp, row.consent_stamp) == StampOrder::kNewer) {
    row.consent_stamp = stamp;
    row.consent.reset();
  }
  if (!buries) return false;
  row.tombstone_stamp = stamp;
  row.tombstone = {.public_cross_project_id = std::move(public_id), .time = stamp.time};
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

}  // namespace cobblestone::stage
