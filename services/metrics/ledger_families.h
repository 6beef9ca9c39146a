// Output of slots (ledger_watch.h) as Prometheus metrics.
#pragma once

#include "services/metrics/families.h"
#include "services/metrics/ledger_watch.h"

namespace cobblestone::metrics {

void AddLedger(const LedgerCounts& counts, Families* all);

}  // namespace cobblestone::metrics
