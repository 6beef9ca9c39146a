// What the stages keep for statistics files, each in tables of its own: rows that nothing reads but exports and people's
// questions, and that only events about their subject write. Of two events about the same the one of the later (time, id)
// counts, whatever the order in which they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/stream/table.h"
#include "common/wire/events.h"
#include "common/wire/profiles.h"
#include "common/wire/word.h"

namespace cobblestone::wire {

// Of a user, host or team. One that has never been told a profile or exact figures of has no row.
template <class Profile>
struct ProfileRow {
  Word word;                       // the member event that told the profile, or that there is none any more
  std::optional<Profile> profile;  // none: never told, or the account was deleted since
  Word opening;                    // the event that told the figures
  std::optional<OpeningFigures> figures;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.word, s.profile, s.opening, s.figures);
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

// A member event was taken in, though it may not be the one in force: a profile outlives later events that tell none.
// `gone_since`: a member event in force that is newer, and says that the row is gone. A deletion takes the profile away; the
// figures stay, which are credit and nobody's data.
template <class Profile>
void TakeProfile(const Word& word, bool deleted, const std::optional<Profile>& told, bool gone_since,
                 const stream::Key& key, stream::Table<ProfileRow<Profile>>& table) {
  if (gone_since || (!deleted && !told)) return;
  const ProfileRow<Profile>* before = table.Find(key);
  if (before == nullptr && deleted) return;
  if (before != nullptr && StandingOf(word, before->word) != Standing::kNews) return;
  ProfileRow<Profile>& row = table.Mutable(key);
  row.word = word;
  row.profile = deleted ? std::nullopt : told;
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
