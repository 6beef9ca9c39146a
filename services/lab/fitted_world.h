// The laboratory's world as a fit of a real project's records describes it.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/fleet/fleet.h"
#include "services/history/fit.h"
#include "services/lab/experiment.h"

namespace cobblestone::lab {

// Sets `parameters` and `app` of the options. Fitted values beyond the range of their parameter become its limit.
// GPUs are slowed down to four times the speed of a core (services/lab/world.cc): their jobs, not their credit, get fewer.
void UseFit(const history::Fit& fit, LabOptions* options);

// The replication that is closest to the project's: single or double if all but 5 % of the workunits agree, else
// adaptive.
fleet::Replication ReplicationOf(const history::Fit& fit);

// Results of an attacker that count: those of the 90th percentile of hosts, from 100 to 1000.
std::uint64_t JobsOf(const history::Fit& fit);

// A table of the fitted values, with what each came from, and the values that the records do not tell.
std::string FitText(const history::Fit& fit);

// For each condition, the attacks that gain more than 1.10 (or, without any honest work, that have an income above
// 1.10), greatest first; separately those whose 95 % interval includes 1.10.
std::string PayingText(const std::vector<Measurement>& measurements);

}  // namespace cobblestone::lab
