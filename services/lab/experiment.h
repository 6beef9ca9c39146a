// Experiments: an attack's world goes through the real pipeline, and so does its twin, the same world in which the
// attackers work honestly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/fleet/fleet.h"
#include "services/lab/attack_file.h"
#include "services/lab/metrics.h"
#include "services/lab/world.h"

namespace cobblestone::lab {

struct Condition {
  std::string policy;
  fleet::Replication replication = fleet::Replication::kSingle;
  fleet::SizeModel sizes = fleet::SizeModel::kNoisy;
  World world = World::kUniform;
};

struct LabOptions {
  std::vector<NamedAttack> attacks;
  std::vector<Condition> conditions;
  fleet::Parameters parameters = {};  // of the uniform population; see LabParameters
  std::vector<std::string> changes;   // "name=value" that SetParameter accepts, of every world
  // Instead of the laboratory's app; its replication, versions and trickles are those of condition and attack.
  std::optional<fleet::AppModel> app;
  std::uint64_t hosts = 300;  // honest
  std::uint64_t jobs = 1000;  // of a person that count
  double share = 0;           // attackers / honest hosts; 0: that of each attack
  double join = 0;            // days after which the attackers, and their twins, join the others
  std::uint32_t seeds = 5;    // 1, 2, ...
  unsigned threads = 0;       // 0: one for each core. No figure depends on it
  // Worlds that are finished, and all; may be empty. Never called by two threads at once.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;
};

struct Measurement {
  std::string id;
  std::string name;
  std::uint64_t attackers = 0;
  Condition condition;
  std::vector<Figures> seeds;  // in order
};

// "single", "double", "adaptive", "advised"; "accurate", "noisy", "bimodal". InvalidArgument names them.
Result<fleet::Replication> ReplicationByName(const std::string& name);
Result<fleet::SizeModel> SizesByName(const std::string& name);
std::string NameOf(fleet::Replication replication);
std::string NameOf(fleet::SizeModel sizes);
// "boinc, single replication, noisy sizes", and the world unless it is uniform.
std::string NameOf(const Condition& condition);

// The number of attackers in a world, at least 1.
std::uint64_t AttackersOf(const LabOptions& options, const NamedAttack& attack);

// The world of an attack; that of a default-constructed fleet::Attack is the twin. What the app of `named` needs is
// in both.
fleet::FleetOptions WorldOf(const LabOptions& options, const Condition& condition, std::uint64_t attackers,
                            const fleet::Attack& attack, std::uint64_t seed, const NamedAttack& named = {});

// Sends the world's events through the pipeline in memory, with a tick every 600 s. `options` must pass CheckFleetOptions.
Result<WorldOutcome> RunWorld(const fleet::FleetOptions& options);

// One measurement for each condition and attack, in this order. Twins are shared between attacks of the same share.
Result<std::vector<Measurement>> RunLaboratory(const LabOptions& options);

}  // namespace cobblestone::lab
