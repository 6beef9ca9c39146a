// Corrections of a result that an operator has reversed, repriced or reinstated; other results have no such row.
//
// Only the ledger has all credit of a result. So the reader of the ledger (`cobblestone reverse`, `reprice`,
// `reinstate`) writes into the event the amount and the last correction before the event. An event that does not name
// the last correction is refused: of two events that were planned from the same credit only one takes effect.
#pragma once

#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/corrected_day.h"
#include "common/stream/table.h"
#include "common/wire/events/event_stamp.h"

namespace cobblestone::accounts {

// Corrections of a result for one owner (a user, or a host without an owner), by the team that the credit was
// posted to.
struct CorrectedEntry {
  UserId user;
  HostId host;
  TeamId team;
  std::vector<wire::EventStamp> stamps;  // the events, each of which names the previous event
  bool uncounted = false;                // the grant no longer counts

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.host, s.team, s.stamps, s.uncounted);
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

// By user: the days whose credit was corrected. Other users have no such row.
struct CorrectedDays {
  std::vector<credit::CorrectedDay> days;  // credit::AddCorrection

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.days);
  }
};
inline constexpr stream::TableSpec<CorrectedDays> kCorrectedDaysTable{.id = 56, .version = 1};

}  // namespace cobblestone::accounts
