// One schedule: workers that crash, sleep, come and go on a simulated cluster, and then a time without faults in which
// everything must come to rest; and the judgement of what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/sim/sim_cluster.h"
#include "common/stream/kafka/worker.h"
#include "common/stream/runtime/slot.h"
#include "common/wire/ledger/refused_codec.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

inline constexpr std::uint32_t kSimPartitions = 2;

// The same for many schedules: computed once.
struct SimTraffic {
  std::vector<std::string> broadcasts;  // drained before the others come
  std::vector<std::string> events;
  Outcome expected;
};
SimTraffic MakeSimTraffic(std::uint64_t seed, std::uint64_t results);
// For `order: lockstep`: all in one order, ticks among them; averages that depend on it, hosts and users that move.
SimTraffic MakeLockstepTraffic(std::uint64_t seed, std::uint64_t results);

struct SimSchedule {
  std::uint64_t seed = 1;
  stream::kafka::Standby standby = stream::kafka::Standby::kNone;
  bool lockstep = false;
  bool calm = false;        // one worker, nothing goes wrong
  bool compacting = false;  // brokers compact checkpoints all the time, and disks are lost often
  // Canaries: what must be found.
  bool hide_suspects = false;  // producers never say that they are suspect
  bool no_watch = false;       // nobody looks whether each slot is somebody's
  std::function<void(stream::SlotFactory&)>
      change_stages{};  // puts something else in the place of the real stages
  // Whose processes die in the time without faults, too, is started again.
  bool restarts = false;
};

struct SimResult {
  std::string problem;  // empty: all is as it must be
  std::string hash;     // lockstep: of all awards and totals
  std::map<std::string, std::uint64_t> counts;
  std::vector<wire::Refused> crashed;  // records that were passed over
  std::vector<std::string> story;      // what the workers said
};

SimResult RunSchedule(const SimTraffic& traffic, const SimSchedule& schedule);

}  // namespace cobblestone::testing
