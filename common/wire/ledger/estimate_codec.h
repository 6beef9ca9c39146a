// An account manager's report and the accepted part of it, in the ledger (schemas/internal.proto, Estimate),
// hand-written codec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"

namespace cobblestone::wire {

// Growth since the previous report.
struct EstimatedUse {
  credit::Resource resource = credit::Resource::kUnknown;
  credit::MicroCredit credit_micro = 0;
  double run_time = 0;  // s; including failed jobs
  std::uint64_t jobs = 0;
  std::uint64_t failed_jobs = 0;
  double failed_run_time = 0;  // s

  friend bool operator==(const EstimatedUse&, const EstimatedUse&) = default;
};

struct Estimate {
  std::uint64_t event = 0;  // the report's id
  std::uint64_t machine = 0;
  credit::MicroCredit asked_micro = 0;    // growth of the counters
  credit::MicroCredit allowed_micro = 0;  // the part within the bounds
  std::uint32_t bounds = 0;               // credit::EstimateBound
  double since = 0;                       // UNIX s: start of the machine time that counts
  double flops = 0;                       // FLOP/s accepted for the machine
  std::vector<EstimatedUse> uses;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// Appends the message's bytes to `out`.
void EncodeEstimate(const Estimate& estimate, std::string* out);
// False if the bytes are not such a message.
[[nodiscard]] bool DecodeEstimate(std::string_view bytes, Estimate* estimate);

}  // namespace cobblestone::wire
