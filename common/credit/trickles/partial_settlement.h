// What a job's decision makes of the partial grants that its trickles were paid (docs/rules.md, section 40): the
// final grant pays the difference. Where they come to more than the job was worth in the end, the app says what is done
// (TrickleSettlement). Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// How the decision touches one of those who were paid.
struct SettledPartial {
  UserId user;
  MicroCredit taken = 0;  // back, micro-credits; at least 0
  MicroCredit settles =
      0;  // of the user's partial grants: all that nobody has taken back, which are final from now on
  double recent_off = 0;  // Cobblestones per day that `taken` still adds to the recent average at that time
  double paid_time = 0;   // UNIX s: of the newest of the partial grants, where any of it is taken

  friend bool operator==(const SettledPartial&, const SettledPartial&) = default;
};

struct PartialSettlement {
  MicroCredit final_micro =
      0;  // of the final grant: worth less what was paid, at least 0; all of it where nothing was
  std::vector<SettledPartial> parts;  // in the order of `paid`
};

[[nodiscard]] MicroCredit PaidSum(std::span<const PaidPartial> paid);

// Notes a partial grant to the owner that the host has now.
void AddPaid(UserId user, MicroCredit micro, double time, std::vector<PaidPartial>& paid);

// Notes that an operator takes `micro` back, while the job runs; at most what they still have. `off`: what of it is in the recent
// average at `time`, Cobblestones per day. Gives how much of that is believed: no more than is in it.
double TakeBackPaid(MicroCredit micro, double off, double time, PaidPartial& paid);

// What another price makes of partial grants, and of what was taken back of them: more, or less.
struct PaidChange {
  MicroCredit micro = 0;
  MicroCredit reversed = 0;
};
// Notes it, while the job runs. `off`: what the recent average loses by it at `time`, Cobblestones per day; below 0: wins. Gives how
// much of that is believed: no more is lost than is in it.
double PayAnew(const PaidChange& change, double off, double time, PaidPartial& paid);

// `worth`: of the whole job, 0 where it got nothing; at least 0. What must be taken back goes from those who were paid last
// first: the host may have changed its owner. What operators took back while the job ran counts as paid, so that it does not come
// back, and is not taken a second time: of each owner's it is the first of what they were paid, and a decision takes the last.
[[nodiscard]] PartialSettlement SettlePartials(std::span<const PaidPartial> paid, MicroCredit worth,
                                               TrickleSettlement settlement, double now);

// Names as in the catalogue: keep, settle, cap.
[[nodiscard]] std::optional<TrickleSettlement> TrickleSettlementByName(std::string_view name);
[[nodiscard]] std::string_view TrickleSettlementName(TrickleSettlement settlement);

}  // namespace cobblestone::credit
