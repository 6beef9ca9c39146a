// What the stages keep for statistics files, each in tables of its own: rows that nothing reads but exports and people's
// questions, and that only events about their subject write. Of two events about the same the one of the later (time, id)
// counts, whatever the order in which they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/added_in.h"
#include "common/stream/table.h"
#include "common/wire/events/events.h"
#include "common/wire/events/field_words.h"
#include "common/wire/events/profiles.h"
#include "common/wire/events/word.h"

namespace cobblestone::wire {

// Of a user, host or team. One that no event has told anything of that files show has no row.
template <class Profile>
struct ProfileRow {
  Word word;  // the newest member event that told something of the profile, or deleted the account
  std::optional<Profile> profile;  // none: never told, or the account was deleted since
  Word opening;                    // the event that told the figures
  std::optional<OpeningFigures> figures;
  FieldWords earlier;  // with `word`
  bool plain = false;  // all of it comes of fields of members: no event has had a profile

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.word, s.profile, s.opening, s.figures, AddedIn<2>(s.earlier), AddedIn<2>(s.plain));
  }
};

// Of an account, known or not: each part with the event that told it.
struct FactsRow {
  Word badges_word;
  std::vector<BadgeHeld> badges;
  Word credit_word;
  std::vector<AppCredit> credit;
  Word consent_word;                     // said: the user has rows of consent
  std::optional<std::uint32_t> consent;  // copies
  Word tombstone_word;
  std::optional<Tombstone> tombstone;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.badges_word, s.badges, s.credit_word, s.credit, s.consent_word, s.consent, s.tombstone_word,
      s.tombstone);
  }
};

// Of a project; with the coordinator.
struct ProjectProfileRow {
  Word word;
  ProjectProfile profile;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.word, s.profile);
  }
};

// Whether an event has a profile at all, as if that were a field: it says who may see the account's hosts.
inline constexpr FieldMask kHasProfile = FieldBit(0);

// What files show of a member by its event: its profile, and where that does not tell a field, the member's own field. None is
// told: files show nothing of it.
UserProfile ShownOf(const UserMember& member);
HostProfile ShownOf(const HostMember& member);
TeamProfile ShownOf(const TeamMember& member);

// Sets those fields of `to` that are in the mask.
template <class Profile>
void SetFields(FieldMask fields, const Profile& from, Profile* to) {
  Profile::Fields(*to, [&](auto&... into) {
    Profile::Fields(from, [&](const auto&... value) {
      int number = 0;  // Fields() has them in the order of their numbers
      ((void)((fields & FieldBit(++number)) != 0 ? (void)(into = value) : void()), ...);
    });
  });
}

// A member event was taken in, though it may not be the one in force: each field is that of the newest event that tells it.
// `gone_since`: a member event in force that is newer, and says that the row is gone. A deletion takes the profile away; the
// figures stay, which are credit and nobody's data.
template <class Profile>
void TakeProfile(const Word& word, bool deleted, const Profile& shown, bool gone_since,
                 const stream::Key& key, stream::Table<ProfileRow<Profile>>& table) {
  constexpr FieldMask kAll = Profile::kAllFields | kHasProfile;
  const FieldMask told = deleted ? kAll : shown.told;
  if (gone_since || told == 0) return;
  const ProfileRow<Profile>* before = table.Find(key);
  const FieldMask news = before == nullptr ? told : NewsIn(word, told, before->word, before->earlier);
  if (news == 0) return;
  ProfileRow<Profile>& row = table.Mutable(key);
  if (!row.word.said()) row.plain = true;
  TellFields(word, told, kAll, &row.word, &row.earlier);
  if ((news & kHasProfile) != 0) row.plain = deleted;
  if (deleted && row.earlier.empty()) {
    row.profile.reset();
    return;
  }
  if (!row.profile) row.profile.emplace();
  SetFields(news, deleted ? Profile{} : shown, &*row.profile);
}

// The account's one opening was taken.
template <class Profile>
void TakeFigures(const Word& word, const OpeningTotal& opening, const stream::Key& key,
                 stream::Table<ProfileRow<Profile>>& table) {
  if (!opening.figures) return;
  ProfileRow<Profile>& row = table.Mutable(key);
  row.opening = word;
  row.figures = opening.figures;
}

// How long files list a deleted account, s of event time.
inline constexpr double kTombstoneTime = 60 * 86400.0;
constexpr bool IsListedAsDeleted(const Tombstone& tombstone, double now) {
  return now - tombstone.time <= kTombstoneTime;
}
// The first day on which it is listed no more.
std::int32_t DayAfter(const Tombstone& tombstone);

// Before TakeProfile(): a member event in force says that the account is gone, or there. Of one that is gone badges and consent
// go; what sites need to delete it (`public_id`, where one was told) is a tombstone, unless the project has told one. True: there
// is a new one.
bool TakeDeletion(const Word& word, bool deleted, std::string public_id, const stream::Key& key,
                  stream::Table<FactsRow>& table);
// The day on which its tombstone goes; nothing: it has gone, or there was none.
std::optional<std::int32_t> DropTombstone(std::int32_t today, const stream::Key& key,
                                          stream::Table<FactsRow>& table);

// False: one of its parts was told by an event with this id, and other contents; nothing is taken then.
bool TakeFacts(const Word& word, AccountFacts facts, const stream::Key& key, stream::Table<FactsRow>& table);

}  // namespace cobblestone::wire
