// Control totals of an adoption: of the rows as they were read, and as the pipeline then has them. Sums are of whole numbers,
// and so exact in any order.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "common/credit/accounts/account.h"
#include "common/stream/hash128.h"
#include "common/wire/events/events.h"

namespace cobblestone::adoption {

// Of all accounts of a kind.
struct KindTotals {
  std::uint64_t accounts = 0;     // with an opening
  std::uint64_t profiles = 0;     // as statistics files show them
  credit::MicroTotal credit = 0;  // opening balances
  credit::MicroTotal rac =
      0;  // recent averages, each rounded to 10^-6 Cobblestones per day; beyond 64 bits of these: 0
  std::uint64_t no_balance = 0;  // totals that can be no balance, and opened the account with 0
  stream::Hash128 figures;       // sum over a hash of each account's number and figures, every bit

  void Add(std::uint64_t account, const wire::OpeningFigures& told);
  void Add(const KindTotals& other);
  friend bool operator==(const KindTotals&, const KindTotals&) = default;
};

struct Totals {
  KindTotals users;
  KindTotals teams;
  KindTotals hosts;

  [[nodiscard]] KindTotals& Of(wire::AccountKind kind);
};

// {"users": {"accounts", "profiles", "credit", "rac", "no_balance", "figures"}, "teams", "hosts"}; credit and rac as text with
// six decimals, figures as 32 hexadecimal digits.
nlohmann::json TotalsJson(const Totals& totals);
// What of `then` differs from `read`, by kind and field: {"users": {"credit": "-0.000001"}}; empty: nothing. Only fields that
// `then` has are compared. Of credit and rac the difference, of the others what there is.
nlohmann::json DifferenceOf(const nlohmann::json& read, const nlohmann::json& then);

}  // namespace cobblestone::adoption
