#include "common/credit/trickles/partial_settlement.h"

#include <algorithm>

#include "common/credit/model/constants.h"

namespace cobblestone::credit {

MicroCredit PaidSum(std::span<const PaidPartial> paid) {
  MicroCredit sum = 0;
  for (const PaidPartial& one : paid) sum += one.micro;
  return sum;
}

void AddPaid(UserId user, MicroCredit micro, double time, std::vector<PaidPartial>& paid) {
  auto one = std::find_if(paid.begin(), paid.end(), [&](const PaidPartial& p) { return p.user == user; });
  if (one == paid.end()) one = paid.insert(paid.end(), {.user = user});
  one->micro += micro;
  const double now = std::max(time, one->recent_time);
  const RecentAverage before{.value = one->recent, .time = one->recent_time};
  one->recent = DecayedAverage(before, now, kRecentAverageHalfLife) +
                kLn2 * (static_cast<double>(micro) / 1e6) * kSecondsPerDay / kRecentAverageHalfLife;
  one->recent_time = now;
}

double TakeBackPaid(MicroCredit micro, double off, double time, PaidPartial& paid) {
  return PayRepriced({.reversed = micro}, std::max(off, 0.0), time, paid);
}

double PayRepriced(const PaidChange& change, double off, double time, PaidPartial& paid) {
  paid.micro += change.micro;
  paid.reversed += change.reversed;
  const double left =
      DecayedAverage({.value = paid.recent, .time = paid.recent_time}, time, kRecentAverageHalfLife);
  if (!(left > 0)) return 0;
  const double taken = std::min(off, left);
  paid.recent *= 1 - taken / left;  // `recent` still refers to recent_time
  return taken;
}

PartialSettlement SettlePartials(std::span<const PaidPartial> paid, MicroCredit worth,
                                 TrickleSettlement settlement, double now) {
  PartialSettlement result;
  const MicroCredit sum = PaidSum(paid);
  // BOINC's sanity check can grant a negative amount; without partial grants the worth is not changed.
  result.final_micro = paid.empty() ? worth : std::max<MicroCredit>(worth - sum, 0);
  for (const PaidPartial& one : paid) result.parts.push_back({.user = one.user, .settles = one.kept()});
  if (settlement == TrickleSettlement::kKeep) return result;
  MicroCredit excess = std::max<MicroCredit>(sum - worth, 0);
  for (std::size_t i = paid.size(); i-- > 0 && excess > 0;) {
    SettledPartial& one = result.parts[i];
    const MicroCredit beyond = std::min(excess, paid[i].micro);
    excess -= beyond;
    one.taken = std::min(beyond, one.settles);
    if (one.taken == 0) continue;
    one.paid_time = paid[i].recent_time;
    const double share = static_cast<double>(one.taken) / static_cast<double>(one.settles);
    one.recent_off = share * DecayedAverage({.value = paid[i].recent, .time = paid[i].recent_time}, now,
                                            kRecentAverageHalfLife);
  }
  return result;
}

std::optional<TrickleSettlement> TrickleSettlementByName(std::string_view name) {
  if (name == "keep") return TrickleSettlement::kKeep;
  if (name == "settle") return TrickleSettlement::kSettle;
  if (name == "cap") return TrickleSettlement::kCap;
  return std::nullopt;
}

std::string_view TrickleSettlementName(TrickleSettlement settlement) {
  switch (settlement) {
    case TrickleSettlement::kKeep: return "keep";
    case TrickleSettlement::kSettle: return "settle";
    case TrickleSettlement::kCap: return "cap";
  }
  return "unknown";
}

}  // namespace cobblestone::credit
