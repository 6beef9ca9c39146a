// Rows that the stages keep for statistics files, in separate tables: only exports and queries read them, and
// only events about their subject write them. Of two events with the same field the event with the later (time,
// id) counts, in any order of arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/stream/table.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/events.h"
#include "common/wire/events/field_stamps.h"
#include "common/wire/events/profiles.h"

namespace cobblestone::stage {

// A row of a user, host or team. It exists only if an event has set a field that files show.
template <class Profile>
struct ProfileRow {
  wire::EventStamp stamp;          // the newest member event that set a profile field or deleted the account
  std::optional<Profile> profile;  // none: never set, or the account was deleted since
  wire::EventStamp opening;        // the event that set the figures
  std::optional<wire::OpeningFigures> figures;
  wire::FieldStamps earlier;  // with `stamp` (field_stamps.h)
  bool plain = false;         // all values come from members' own fields: no event has had a profile

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamp, s.profile, s.opening, s.figures, s.earlier, s.plain);
  }
};

// A row of an account, whether an event has named it or not: each part with the event that set it.
struct FactsRow {
  wire::EventStamp badges_stamp;
  std::vector<wire::BadgeHeld> badges;
  wire::EventStamp credit_stamp;
  std::vector<wire::AppCredit> credit;
  wire::EventStamp consent_stamp;        // set: the user has rows of consent
  std::optional<std::uint32_t> consent;  // copies
  wire::EventStamp tombstone_stamp;
  std::optional<wire::Tombstone> tombstone;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.badges_stamp, s.badges, s.credit_stamp, s.credit, s.consent_stamp, s.consent, s.tombstone_stamp,
      s.tombstone);
  }
};

// A row of a project, in the coordinator's store.
struct ProjectProfileRow {
  wire::EventStamp stamp;
  wire::ProjectProfile profile;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamp, s.profile);
  }
};

// Whether an event has a profile at all, treated as a field: the profile says who may see the account's hosts.
inline constexpr wire::FieldMask kHasProfile = wire::FieldBit(0);

// The fields of a member event that statistics files show: the fields of its profile, and for a field that the
// profile lacks, the member's own field. A field that neither has is not shown.
wire::UserProfile ShownOf(const wire::UserMember& member);
wire::HostProfile ShownOf(const wire::HostMember& member);
wire::TeamProfile ShownOf(const wire::TeamMember& member);

// Sets the fields of `to` that are in the mask.
template <class Profile>
void SetFields(wire::FieldMask fields, const Profile& from, Profile* to) {
  Profile::Fields(*to, [&](auto&... into) {
    Profile::Fields(from, [&](const auto&... value) {
      int number = 0;  // Fields() visits them in the order of their numbers, some of which are reserved
      const auto next = [&] {
        do ++number;
        while ((Profile::kAllFields & wire::FieldBit(number)) == 0);
        return wire::FieldBit(number);
      };
      ((void)((fields & next()) != 0 ? (void)(into = value) : void()), ...);
    });
  });
}

// Applies an accepted member event, which need not be the event in force: each field has the value of the newest
// event that sets it. `gone_since`: a newer member event, which is in force, deletes the row. A deletion
// removes the profile; the figures stay, because they are credit and not personal data.
template <class Profile>
void TakeProfile(const wire::EventStamp& stamp, bool deleted, const Profile& shown, bool gone_since,
                 const stream::Key& key, stream::Table<ProfileRow<Profile>>& table) {
  constexpr wire::FieldMask kAll = Profile::kAllFields | kHasProfile;
  const wire::FieldMask present = deleted ? kAll : shown.present;
  if (gone_since || present == 0) return;
  const ProfileRow<Profile>* before = table.Find(key);
  const wire::FieldMask news =
      before == nullptr ? present : wire::NewerFields(stamp, present, before->stamp, before->earlier);
  if (news == 0) return;
  ProfileRow<Profile>& row = table.Mutable(key);
  if (!row.stamp.is_set()) row.plain = true;
  wire::StampFields(stamp, present, kAll, &row.stamp, &row.earlier);
  if ((news & kHasProfile) != 0) row.plain = deleted;
  if (deleted && row.earlier.empty()) {
    row.profile.reset();
    return;
  }
  if (!row.profile) row.profile.emplace();
  SetFields(news, deleted ? Profile{} : shown, &*row.profile);
}

// Applies the figures of an account's single opening, which was accepted.
template <class Profile>
void TakeFigures(const wire::EventStamp& stamp, const wire::OpeningTotal& opening, const stream::Key& key,
                 stream::Table<ProfileRow<Profile>>& table) {
  if (!opening.figures) return;
  ProfileRow<Profile>& row = table.Mutable(key);
  row.opening = stamp;
  row.figures = opening.figures;
}

// How long files list a deleted account, s of event time.
inline constexpr double kTombstoneTime = 60 * 86400.0;
constexpr bool IsListedAsDeleted(const wire::Tombstone& tombstone, double now) {
  return now - tombstone.time <= kTombstoneTime;
}
// The first day on which files no longer list the account.
std::int32_t DayAfter(const wire::Tombstone& tombstone);

// Applies a member event in force to the facts of an account that the event deletes or that exists again. Call
// before TakeProfile(). Badges and consent of a deleted account are removed; the data that sites need to delete
// it (`public_id`, if known) is kept as a tombstone, unless the project has sent a tombstone. True: there is a
// new tombstone.
bool TakeDeletion(const wire::EventStamp& stamp, bool deleted, std::string public_id, const stream::Key& key,
                  stream::Table<FactsRow>& table);
// Drops the account's tombstone if `today` is after DayAfter(). Returns the day under which the account is to
// be filed again; nothing: there is no tombstone any more.
std::optional<std::int32_t> DropTombstone(std::int32_t today, const stream::Key& key,
                                          stream::Table<FactsRow>& table);

// False: an event with this id and other contents has already set one of the parts; nothing is applied then.
bool TakeFacts(const wire::EventStamp& stamp, wire::AccountFacts facts, const stream::Key& key,
               stream::Table<FactsRow>& table);

}  // namespace cobblestone::stage
