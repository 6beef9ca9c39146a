// Control totals of an adoption: of the rows as read, and of the state of the pipeline afterwards. Sums of
// whole numbers, therefore exact in any order.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "common/credit/accounts/account.h"
#include "common/stream/hash128.h"
#include "common/wire/events/events.h"

namespace cobblestone::adoption {

// Totals of all accounts of a kind.
struct KindTotals {
  std::uint64_t accounts = 0;     // with an opening
  std::uint64_t profiles = 0;     // as statistics files show them
  credit::MicroTotal credit = 0;  // opening balances
  // Recent averages, each rounded to 10^-6 Cobblestones per day; 0 for an average beyond 64 bits of that unit.
  credit::MicroTotal rac = 0;
  // Totals that cannot be a balance and opened the account with 0.
  std::uint64_t no_balance = 0;
  // Sum over a hash of each account's id and figures, every bit included.
  stream::Hash128 figures;

  void Add(std::uint64_t account, const wire::OpeningFigures& opening);
  void Add(const KindTotals& other);
  friend bool operator==(const KindTotals&, const KindTotals&) = default;
};

struct Totals {
  KindTotals users;
  KindTotals teams;
  KindTotals hosts;

  [[nodiscard]] KindTotals& Of(wire::AccountKind kind);
};

// {"users": {"accounts", "profiles", "credit", "rac", "no_balance", "figures"}, "teams", "hosts"}. Credit and
// rac are text with six decimals, figures are 32 hexadecimal digits.
nlohmann::json TotalsJson(const Totals& totals);
// Differences between `read` and `then`, by kind and field: {"users": {"credit": "-0.000001"}}; empty: none.
// Compares only fields of `then`. Credit and rac are differences, other fields have the value in `then`.
nlohmann::json DifferenceOf(const nlohmann::json& read, const nlohmann::json& then);

}  // namespace cobblestone::adoption
