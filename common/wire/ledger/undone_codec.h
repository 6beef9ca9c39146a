// What an operator's reversal or re-pricing was decided upon, in the ledger (schemas/internal.proto, Undone), by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"

namespace cobblestone::wire {

struct Undone {
  std::uint64_t event = 0;  // its id
  WorkunitId workunit;
  AppVersionId app_version;
  credit::MicroCredit credit_micro = 0;  // what the result had brought the owner before
  std::uint32_t policy_version = 0;      // re-pricing: that the new price is of
  bool counted = false;                  // reversal: the result counts no more
  // Reversal of what a job that runs was paid: up to which sum of it, by that owner and team; 0: it had ended. Re-pricing of a job
  // that runs: the new sum of it.
  credit::MicroCredit paid_micro = 0;
  credit::MicroCredit taken_micro = 0;  // likewise: of the new sum by operators
  std::uint32_t repriced = 0;  // likewise: how often the job has been priced anew, this time included
  // Reinstatement of a result that was judged invalid: it gets what this result of its workunit was granted. 0: what its own claim
  // comes to, or what the operator has named.
  ResultId like_result;

  friend bool operator==(const Undone&, const Undone&) = default;
};

// Appends the message's bytes to `out`.
void EncodeUndone(const Undone& undone, std::string* out);
// False where the bytes are no such message.
[[nodiscard]] bool DecodeUndone(std::string_view bytes, Undone* undone);

}  // namespace cobblestone::wire
