// The weighted round-robin simulation of the queued jobs: when each job ends, and when and how long instances will be idle.
#pragma once

#include <cstddef>
#include <vector>

#include "common/workfetch/client.h"

namespace cobblestone::workfetch {

enum class Until {
  kAllEnd,  // all jobs have ended
  kBufferEnds,  // all values but `end` are known: at the end of the buffer, or when each resource has had an idle instance
};

struct RoundRobin {
  PerResource shortfall{};  // idle instance-seconds between now and the end of the buffer
  PerResource idle_now{};   // instances
  PerResource saturated{};  // s from now until the first idle instance; kNever if a job never ends
  std::vector<double>
      end;  // s from now, per job of the client; kNever if it cannot run. Empty with kBufferEnds
  std::size_t steps = 0;  // at most the number of jobs + 1
};

// Projects share the CPUs by resource share; coprocessors take jobs in order of arrival. The host computes only a part of the
// time, so jobs last 1/on_fraction of their estimate.
// Invariant: an instance that no waiting job fits counts as busy. Otherwise half a GPU that two jobs of 0.6 GPUs leave idle would be
// a shortfall for ever, and fetch without end.
RoundRobin SimulateRoundRobin(const Client& client, Until until = Until::kAllEnd);

}  // namespace cobblestone::workfetch
