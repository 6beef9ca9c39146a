// The basis of an operator's reversal or repricing, in the ledger (schemas/internal.proto, Undone),
// hand-written codec.
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
  credit::MicroCredit credit_micro = 0;  // the owner's credit for the result before
  std::uint32_t policy_version = 0;      // repricing: the version of the new price
  bool counted = false;                  // reversal: the result no longer counts
  // Reversal of a running job's payments: the sum up to which payments to this owner and team are reversed; 0:
  // the job had ended. Repricing of a running job: this sum at the new price.
  credit::MicroCredit paid_micro = 0;
  // Repricing of a running job: the part of the new sum that operators reversed.
  credit::MicroCredit taken_micro = 0;
  std::uint32_t repriced = 0;  // likewise: number of repricings of the job, including this one
  // Reinstatement of a result judged invalid: it receives the amount granted to this result of its workunit.
  // 0: the amount of its own claim, or an amount that the operator named.
  ResultId like_result;

  friend bool operator==(const Undone&, const Undone&) = default;
};

// Appends the message's bytes to `out`.
void EncodeUndone(const Undone& undone, std::string* out);
// False if the bytes are not such a message.
[[nodiscard]] bool DecodeUndone(std::string_view bytes, Undone* undone);

}  // namespace cobblestone::wire
