// Ledger records for the settlement of a job's partial grants, written by the stage that decides the job.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/ids.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/stream/processor.h"

namespace cobblestone::stage {

struct PaidJob {
  ProjectId project;
  HostId host;
  AppId app;
  ResultId result;
  double time = 0;  // of the decision, UNIX s
  std::uint64_t line = 0;
  credit::TrickleSettlement settlement = credit::TrickleSettlement::kKeep;
};

// Emits a REVERSAL to one paid owner: the reversed amount, which may be 0, and the amount that is now final.
void EmitSettled(const PaidJob& job, const credit::SettledPartial& part, std::string_view reason,
                 std::uint32_t partitions, stream::Emitter& out);

}  // namespace cobblestone::stage
