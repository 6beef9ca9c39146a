#include "tests/support/oracle_corrections.h"

#include <cmath>

namespace cobblestone::testing {

constexpr double kYear10000 = 253402300800.0;

const char* BadCorrection(const v1::Envelope& e) {
  const bool reprices = e.has_repricing();
  if (reprices && e.repricing().policy_version() == 0) return "MISSING_FIELD";
  const std::uint64_t result = reprices ? e.repricing().result() : e.reversal().result();
  const bool has_entry = reprices ? e.repricing().has_entry() : e.reversal().has_entry();
  const v1::LedgerEntry& entry = reprices ? e.repricing().entry() : e.reversal().entry();
  const std::string& reason = reprices ? e.repricing().reason() : e.reversal().reason();
  if (result == 0 || reason.empty() || !has_entry || entry.host() == 0 || entry.app() == 0)
    return "MISSING_FIELD";
  if (!std::isfinite(entry.recent()) || !std::isfinite(entry.recent_time())) return "NOT_FINITE";
  if (entry.recent_time() < 0) return "NEGATIVE";
  return entry.recent_time() > kYear10000 ? "OUT_OF_RANGE" : nullptr;
}

const char* OracleCorrections::Hear(const v1::Envelope& e, std::string_view bytes, CorrectionEffect* effect,
                                    bool* taken) {
  *taken = false;
  const bool reprices = e.has_repricing();
  effect->entry = reprices ? e.repricing().entry() : e.reversal().entry();
  effect->result = reprices ? e.repricing().result() : e.reversal().result();
  const v1::LedgerEntry& entry = effect->entry;
  Chain& chain = chains_[{e.project(), effect->result, entry.host(), entry.user(), entry.team()}];
  for (const auto& [id, said] : chain.events)
    if (id == e.id()) return said == bytes ? nullptr : "DUPLICATE_WITH_OTHER_CONTENTS";
  const std::uint64_t last = chain.events.empty() ? 0 : chain.events.back().first;
  if (entry.previous() != last || (entry.counted() && chain.uncounted)) return "ALREADY_DECIDED";
  const std::int64_t after = reprices ? e.repricing().credit_micro() : 0;
  if (__builtin_sub_overflow(after, entry.credit_micro(), &effect->micro)) return "OUT_OF_RANGE";
  effect->uncounts = entry.counted() && !reprices;
  chain.uncounted = chain.uncounted || effect->uncounts;
  chain.events.emplace_back(e.id(), std::string(bytes));
  *taken = true;
  return nullptr;
}

}  // namespace cobblestone::testing
