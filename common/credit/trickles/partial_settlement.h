// Settlement of a job's partial grants when the job is decided (docs/rules.md, section 40): the final grant
// pays the difference. If the partial grants exceed the job's worth, the app's TrickleSettlement applies. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// The settlement of one user's partial grants.
struct SettledPartial {
  UserId user;
  MicroCredit taken = 0;  // micro-credits to reverse; at least 0
  MicroCredit settles =
      0;  // the part of the user's partial grants that operators have not reversed; becomes final now
  double recent_off = 0;  // Cobblestones per day: share of `taken` in the recent average at the decision
  double paid_time = 0;   // UNIX s: of the user's newest partial grant, set if `taken` is above 0

  friend bool operator==(const SettledPartial&, const SettledPartial&) = default;
};

struct PartialSettlement {
  MicroCredit final_micro =
      0;  // of the final grant: worth minus the paid sum, at least 0; without partial grants the worth
  std::vector<SettledPartial> parts;  // in the order of `paid`
};

[[nodiscard]] MicroCredit PaidSum(std::span<const PaidPartial> paid);

// Records a partial grant to `user`, the host's present owner.
void AddPaid(UserId user, MicroCredit micro, double time, std::vector<PaidPartial>& paid);

// Records an operator's reversal of `micro` while the job runs; `micro` at most paid.kept(). `off`: the share
// of `micro` in the recent average at `time`, Cobblestones per day. Returns the accepted part of `off`: at most
// the share that these partial grants have in the average.
double TakeBackPaid(MicroCredit micro, double off, double time, PaidPartial& paid);

// The change of a user's partial grants, and of their reversed part, by repricing; may be negative.
struct PaidChange {
  MicroCredit micro = 0;
  MicroCredit reversed = 0;
};
// Records a repricing while the job runs. `off`: the loss of the recent average at `time`, Cobblestones per
// day; negative: a gain. Returns the accepted part of `off`: a loss is at most the share of these partial
// grants in the average; 0 if there is no such share.
double PayRepriced(const PaidChange& change, double off, double time, PaidPartial& paid);

// `worth`: of the whole job, micro-credits; 0 if the job was granted nothing. A host may have had several
// owners: the excess is reversed from the last element of `paid` to the first (docs/rules.md, section 51).
// Amounts that operators reversed while the job ran count as paid, so that the final grant does not restore
// them. Such amounts are the first part of an owner's payments, and the excess is the last part, so no amount
// is reversed twice.
[[nodiscard]] PartialSettlement SettlePartials(std::span<const PaidPartial> paid, MicroCredit worth,
                                               TrickleSettlement settlement, double now);

// Names as in the catalogue: keep, settle, cap.
[[nodiscard]] std::optional<TrickleSettlement> TrickleSettlementByName(std::string_view name);
[[nodiscard]] std::string_view TrickleSettlementName(TrickleSettlement settlement);

}  // namespace cobblestone::credit
