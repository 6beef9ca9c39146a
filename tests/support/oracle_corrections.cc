#include "tests/support/oracle_corrections.h"

#include <cmath>

namespace cobblestone::testing {

constexpr double kYear10000 = 253402300800.0;

namespace {

const char* BadEntry(std::uint64_t result, const std::string& reason, bool there,
                     const v1::LedgerEntry& entry) {
  if (result == 0 || reason.empty() || !there || entry.host() == 0 || entry.app() == 0)
    return "MISSING_FIELD";
  if (!std::isfinite(entry.recent()) || !std::isfinite(entry.recent_time())) return "NOT_FINITE";
  if (entry.recent_time() < 0) return "NEGATIVE";
  return entry.recent_time() > kYear10000 ? "OUT_OF_RANGE" : nullptr;
}

}  // namespace

const char* BadJobReversal(const v1::JobReversal& event) {
  if (event.host() == 0) return "MISSING_FIELD";
  if (const char* bad = BadEntry(event.result(), event.reason(), event.has_entry(), event.entry()))
    return bad;
  if (event.entry().host() != event.host()) return "OUT_OF_RANGE";
  return event.paid_micro() == 0 ? "MISSING_FIELD" : event.paid_micro() < 0 ? "NEGATIVE" : nullptr;
}

const char* OracleJobReversals::Apply(const v1::Envelope& e, std::string_view bytes, std::size_t repriced,
                                      std::int64_t paid, std::int64_t reversed, std::int64_t* micro) {
  *micro = 0;
  const v1::JobReversal& now = e.job_reversal();
  Reversals& reversals = reversals_[{now.entry().user(), now.entry().team()}];
  if (const auto before = reversals.events.find(e.id()); before != reversals.events.end())
    return before->second == bytes ? nullptr : "DUPLICATE_WITH_OTHER_CONTENTS";
  if (now.repriced() != repriced || now.paid_micro() <= reversals.up_to) return "ALREADY_DECIDED";
  // No more than the user was paid and has not lost yet, whatever team received it.
  if (now.paid_micro() - reversals.up_to > paid - reversed) return "OUT_OF_RANGE";
  *micro = now.paid_micro() - reversals.up_to;
  reversals.up_to = now.paid_micro();
  reversals.events.emplace(e.id(), bytes);
  return nullptr;
}

const char* BadJobRepricing(const v1::JobRepricing& event) {
  if (event.host() == 0 || event.policy_version() == 0 || event.shares().empty()) return "MISSING_FIELD";
  for (const v1::RepricedShare& share : event.shares()) {
    if (const char* bad = BadEntry(event.result(), event.reason(), share.has_entry(), share.entry()))
      return bad;
    if (share.entry().host() != event.host()) return "OUT_OF_RANGE";
    for (const std::int64_t micro :
         {share.paid_micro(), share.taken_micro(), share.repriced_paid_micro(), share.repriced_taken_micro()})
      if (micro < 0) return "NEGATIVE";
    if (share.taken_micro() > share.paid_micro() ||
        share.repriced_taken_micro() > share.repriced_paid_micro())
      return "OUT_OF_RANGE";
  }
  return nullptr;
}

const char* OracleJobReversals::RestsOn(const v1::RepricedShare& share) const {
  const auto reversals = reversals_.find({share.entry().user(), share.entry().team()});
  return share.taken_micro() == (reversals == reversals_.end() ? 0 : reversals->second.up_to)
             ? nullptr
             : "ALREADY_DECIDED";
}

void OracleJobReversals::Reprice(const v1::RepricedShare& share) {
  const auto reversals = reversals_.find({share.entry().user(), share.entry().team()});
  if (reversals != reversals_.end()) reversals->second.up_to = share.repriced_taken_micro();
}

const char* BadCorrection(const v1::Envelope& e) {
  const bool reprices = e.has_repricing();
  const std::uint64_t result = reprices ? e.repricing().result() : e.reversal().result();
  const bool has_entry = reprices ? e.repricing().has_entry() : e.reversal().has_entry();
  const v1::LedgerEntry& entry = reprices ? e.repricing().entry() : e.reversal().entry();
  const std::string& reason = reprices ? e.repricing().reason() : e.reversal().reason();
  if (const char* bad = BadEntry(result, reason, has_entry, entry)) return bad;
  if (!reprices || !e.repricing().has_judged_invalid()) return nullptr;
  if (e.repricing().policy_version() != 0 || entry.team() != 0 || entry.credit_micro() != 0 ||
      entry.counted() || entry.previous() != 0)
    return "OUT_OF_RANGE";
  if (e.repricing().credit_micro() < 0) return "NEGATIVE";
  const double time = e.repricing().judged_invalid().team_time();
  if (time == 0) return "MISSING_FIELD";
  return !std::isfinite(time) ? "NOT_FINITE"
         : time < 0           ? "NEGATIVE"
         : time >= kYear10000 ? "OUT_OF_RANGE"
                              : nullptr;
}

// The first credit of a result: no other correction of the result for that owner, of any team, came before.
const char* OracleCorrections::ApplyFirst(const v1::Envelope& e, std::string_view bytes,
                                          CorrectionEffect* effect, bool* applied) {
  const v1::LedgerEntry& entry = effect->entry;
  for (const auto& [key, chain] : chains_) {
    if (std::tie(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key)) !=
            std::make_tuple(e.project(), effect->result, entry.host(), entry.user()) ||
        chain.events.empty())
      continue;
    for (const auto& [id, earlier] : chain.events)
      if (id == e.id()) return earlier == bytes ? nullptr : "DUPLICATE_WITH_OTHER_CONTENTS";
    return "ALREADY_DECIDED";
  }
  effect->micro = e.repricing().credit_micro();
  effect->recounts = true;
  chains_[{e.project(), effect->result, entry.host(), entry.user(), effect->team}].events.emplace_back(
      e.id(), std::string(bytes));
  *applied = true;
  return nullptr;
}

const char* OracleCorrections::Apply(const v1::Envelope& e, std::string_view bytes, CorrectionEffect* effect,
                                     bool* applied) {
  *applied = false;
  const bool reprices = e.has_repricing();
  effect->entry = reprices ? e.repricing().entry() : e.reversal().entry();
  effect->result = reprices ? e.repricing().result() : e.reversal().result();
  const v1::LedgerEntry& entry = effect->entry;
  if (reprices && e.repricing().has_judged_invalid()) return ApplyFirst(e, bytes, effect, applied);
  effect->team = entry.team();
  Chain& chain = chains_[{e.project(), effect->result, entry.host(), entry.user(), entry.team()}];
  for (const auto& [id, earlier] : chain.events)
    if (id == e.id()) return earlier == bytes ? nullptr : "DUPLICATE_WITH_OTHER_CONTENTS";
  const std::uint64_t last = chain.events.empty() ? 0 : chain.events.back().first;
  if (entry.previous() != last || (entry.counted() && chain.uncounted)) return "ALREADY_DECIDED";
  const bool reinstates = reprices && e.repricing().policy_version() == 0;
  if (reinstates &&
      (chain.events.empty() || (e.repricing().credit_micro() == entry.credit_micro() && !chain.uncounted)))
    return "ALREADY_DECIDED";
  const std::int64_t after = reprices ? e.repricing().credit_micro() : 0;
  if (__builtin_sub_overflow(after, entry.credit_micro(), &effect->micro)) return "OUT_OF_RANGE";
  effect->uncounts = entry.counted() && !reprices;
  effect->recounts = reinstates && chain.uncounted;
  chain.uncounted = (chain.uncounted || effect->uncounts) && !reinstates;
  chain.events.emplace_back(e.id(), std::string(bytes));
  *applied = true;
  return nullptr;
}

}  // namespace cobblestone::testing
