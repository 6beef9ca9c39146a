// What ACCOUNTS remembers of a result that an operator has reversed, priced anew or reinstated; others have no such row.
//
// Only the ledger knows all that a result has brought: who reads it (`cobblestone reverse`, `reprice`, `reinstate`) says in the event
// what that was, and which correction came last before. An event that rests on another one than the last is refused, so that of two that
// were decided upon the same credit one alone takes it.
#pragma once

#include <vector>

#include "common/base/ids.h"
#include "common/stream/table.h"
#include "common/wire/events/word.h"

namespace cobblestone::accounts {

// Of a result for one owner (a user, or a host of nobody), by the team that it was posted to.
struct CorrectedEntry {
  UserId user;
  HostId host;
  TeamId team;
  std::vector<wire::Word> words;  // the events, each resting on the one before
  bool uncounted = false;         // its grant counts no more

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.host, s.team, s.words, s.uncounted);
  }
};

struct Corrections {
  std::vector<CorrectedEntry> entries;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.entries);
  }
};

// By result, in the partition of the owner.
inline constexpr stream::TableSpec<Corrections> kCorrectionsTable{.id = 46, .version = 1};

}  // namespace cobblestone::accounts
