// An account manager's report and what of it is believed, in the ledger (schemas/internal.proto, Estimate), by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"

namespace cobblestone::wire {

// Growth since the report before.
struct EstimatedUse {
  credit::Resource resource = credit::Resource::kUnknown;
  credit::MicroCredit credit_micro = 0;
  double run_time = 0;  // s; of failed jobs too
  std::uint64_t jobs = 0;
  std::uint64_t failed_jobs = 0;
  double failed_run_time = 0;  // s

  friend bool operator==(const EstimatedUse&, const EstimatedUse&) = default;
};

struct Estimate {
  std::uint64_t event = 0;  // the report's id
  std::uint64_t machine = 0;
  credit::MicroCredit asked_micro = 0;    // what the counters have grown by
  credit::MicroCredit allowed_micro = 0;  // what the bounds leave of it
  std::uint32_t bounds = 0;               // credit::EstimateBound
  double since = 0;                       // UNIX s: from when on the machine's time counts
  double flops = 0;                       // FLOP/s that the machine is believed to have
  std::vector<EstimatedUse> uses;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// Appends the message's bytes to `out`.
void EncodeEstimate(const Estimate& estimate, std::string* out);
// False where the bytes are no such message.
[[nodiscard]] bool DecodeEstimate(std::string_view bytes, Estimate* estimate);

}  // namespace cobblestone::wire
