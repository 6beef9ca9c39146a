// Which queued jobs run now.
#pragma once

#include "common/workfetch/client.h"
#include "common/workfetch/round_robin.h"

namespace cobblestone::workfetch {

// Sets `running` of all jobs. First jobs that the round-robin simulation sees missing their deadline, earliest deadline first.
// Coprocessors then continue what runs and take the oldest job. CPUs continue what runs, unless `exchange` (a time slice is over),
// and take the oldest job of the project with the greatest debt of the CPU (kHybrid: overall debt, kRec: priority), less what it
// was just given. S004 leaves the choice open. A job of several threads comes first if CPUs would be idle otherwise.
void ScheduleJobs(Client& client, const RoundRobin& queue, double now, bool exchange);

}  // namespace cobblestone::workfetch
