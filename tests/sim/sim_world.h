// One schedule: workers that crash, sleep, join and leave on a simulated cluster; then a time without faults in which
// the pipeline must come to rest; and the check of the result.
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

// Used by many schedules, computed once.
struct SimTraffic {
  std::vector<std::string> broadcasts;  // processed before the events are sent
  std::vector<std::string> events;
  Outcome expected;
  // Of a hub.
  std::vector<std::string> facts{};
  std::uint64_t refused = 0;
};
SimTraffic MakeSimTraffic(std::uint64_t seed, std::uint64_t results);
// For `order: lockstep`: all events in one order, with ticks; averages that depend on the order, hosts and users that
// move.
SimTraffic MakeLockstepTraffic(std::uint64_t seed, std::uint64_t results);
// For `hub`: broadcasts are processed before the next event is sent, and after all earlier ones.
SimTraffic MakeHubTraffic(std::uint64_t seed, int days);

struct SimSchedule {
  std::uint64_t seed = 1;
  stream::kafka::Standby standby = stream::kafka::Standby::kNone;
  bool lockstep = false;
  bool hub = false;         // the stages of a federation hub
  bool calm = false;        // one worker, no faults
  bool compacting = false;  // brokers compact checkpoints continuously, and disks are lost often
  // Canaries, which the simulation must find.
  bool hide_suspects = false;                                 // producers never report that they are suspect
  bool no_watch = false;                                      // no worker checks that each slot has an owner
  std::function<void(stream::SlotFactory&)> change_stages{};  // replaces the real stages
  // Restarts processes that die in the time without faults, too.
  bool restarts = false;
};

struct SimResult {
  std::string problem;  // empty: no problem
  std::string hash;     // lockstep: hash of all awards and totals
  std::map<std::string, std::uint64_t> counts;
  std::vector<wire::Refused> crashed;  // records that were skipped
  std::vector<std::string> story;      // reports of the workers
};

SimResult RunSchedule(const SimTraffic& traffic, const SimSchedule& schedule);

}  // namespace cobblestone::testing
