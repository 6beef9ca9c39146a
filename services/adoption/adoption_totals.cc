#include "services/adoption/adoption_totals.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "common/wire/events/event_check.h"
#include "services/view/json.h"

namespace cobblestone::adoption {
namespace {

using nlohmann::json;
using view::MicroText;

void AddHash(const stream::Hash128& more, stream::Hash128& sum) {
  const std::uint64_t low = sum.low + more.low;
  sum.high += more.high + (low < sum.low ? 1 : 0);
  sum.low = low;
}

json KindJson(const KindTotals& totals) {
  char figures[33];
  std::snprintf(figures, sizeof figures, "%016llx%016llx",
                static_cast<unsigned long long>(totals.figures.high),
                static_cast<unsigned long long>(totals.figures.low));
  return {{"accounts", totals.accounts},        {"profiles", totals.profiles},
          {"credit", MicroText(totals.credit)}, {"rac", MicroText(totals.rac)},
          {"no_balance", totals.no_balance},    {"figures", figures}};
}

// Parses the output of MicroText().
credit::MicroTotal MicroOf(const std::string& text) {
  credit::MicroTotal micro = 0;
  for (const char c : text)
    if (c >= '0' && c <= '9') micro = micro * 10 + (c - '0');
  return text.starts_with('-') ? -micro : micro;
}

}  // namespace

void KindTotals::Add(std::uint64_t account, const wire::OpeningFigures& opening) {
  ++accounts;
  const credit::MicroCredit balance = wire::BalanceOf(opening.total_credit);
  credit += balance;
  bool fits = true;
  const credit::MicroCredit rounded = credit::RoundToMicro(opening.total_credit, &fits);
  if (!fits || rounded != balance) ++no_balance;
  rac += credit::RoundToMicro(opening.expavg_credit);
  stream::Hasher hasher;
  hasher.Scalar(account);
  hasher.Scalar(opening.total_credit);
  hasher.Scalar(opening.expavg_credit);
  hasher.Scalar(opening.expavg_time);
  AddHash(hasher.Digest(), figures);
}

void KindTotals::Add(const KindTotals& other) {
  accounts += other.accounts;
  profiles += other.profiles;
  credit += other.credit;
  rac += other.rac;
  no_balance += other.no_balance;
  AddHash(other.figures, figures);
}

KindTotals& Totals::Of(wire::AccountKind kind) {
  return kind == wire::AccountKind::kHost ? hosts : kind == wire::AccountKind::kTeam ? teams : users;
}

json TotalsJson(const Totals& totals) {
  return {{"users", KindJson(totals.users)},
          {"teams", KindJson(totals.teams)},
          {"hosts", KindJson(totals.hosts)}};
}

json DifferenceOf(const json& read, const json& then) {
  json difference = json::object();
  for (const auto& [kind, fields] : then.items()) {
    if (!fields.is_object()) continue;  // the project's name
    for (const auto& [field, value] : fields.items()) {
      const json& before = read.at(kind).at(field);
      if (before == value) continue;
      const bool amount = field == "credit" || field == "rac";
      difference[kind][field] =
          amount ? json(MicroText(MicroOf(value.get<std::string>()) - MicroOf(before.get<std::string>())))
                 : value;
    }
  }
  return difference;
}

}  // namespace cobblestone::adoption
