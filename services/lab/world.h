// The worlds of the laboratory: populations and apps whose hosts are honest but for the attackers (docs/lab.md).
#pragma once

#include <string>

#include "common/base/status.h"
#include "services/fleet/fleet.h"

namespace cobblestone::lab {

enum class World {
  kUniform,      // one kind of host, one version, one app
  kMixed,        // the hosts of a real project, of all speeds, core counts and availabilities
  kNewHosts,     // hosts stay for a quarter of the time; benchmarks are 30 % off
  kGpu,          // half of the hosts have a GPU, which works on the same jobs
  kLongOnCpu,    // the same, but jobs for CPUs are twice as large as estimated, those for GPUs half as large
  kNewVersion,   // a CPU version that needs 0.8 of the PFC/E replaces the first one at half of the time
  kUnreliable,   // 15 % of all jobs fail
  kSizeStep,     // jobs become twice as large at half of the time, and their estimates stay
  kGpuOnly,      // every host has a GPU, and there is no CPU version
  kTwoVersions,  // half of the hosts use a second CPU version, which is the same program
};

// InvalidArgument names all worlds.
Result<World> WorldByName(const std::string& name);
std::string NameOf(World world);
std::string WorldNames();  // separated by commas

// The homogeneous population of kUniform.
fleet::Parameters LabParameters();

// Makes the world of kUniform, with its time, into another one.
void Shape(World world, fleet::FleetOptions* options);

}  // namespace cobblestone::lab
