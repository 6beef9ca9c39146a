// The end of the demo for a person at a terminal: a pipeline with its page at an address, and traffic flowing through it, until
// they have seen enough.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/cli/stop_signals.h"

namespace cobblestone {

// Somebody looks at standard output, and can end what waits: a terminal, and no CI.
bool SomebodyLooks();

// Runs the pipeline on the directory of `settings`, says where its page is, and feeds it results of a project of their own, by
// HTTP as any project may, until one of the signals comes. `results_per_s`: how fast.
Status ShowPage(const settings::RunSettings& settings, double results_per_s, const StopSignals& signals);

}  // namespace cobblestone
