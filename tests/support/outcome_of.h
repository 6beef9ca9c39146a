// Grants, postings and refusals of a pipeline in memory, for comparison with the oracle.
#pragma once

#include <span>
#include <string>

#include "services/pipeline/pipeline.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

// `ledger`, `refused`: all records of the topics. Throws std::runtime_error if an account is in two partitions or a
// record cannot be decoded.
Outcome OutcomeOf(std::span<pipeline::PipelineSlot> slots, std::span<const std::string> ledger,
                  std::span<const std::string> refused);

}  // namespace cobblestone::testing
