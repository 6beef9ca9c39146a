// The last step of the demo at a terminal: a running pipeline with its web page and synthetic traffic, until the user
// stops it.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/cli/stop_signals.h"

namespace cobblestone::cli {

// True if a person can see standard output and stop the program: a terminal, and no CI.
bool SomebodyLooks();

// Runs the pipeline on the directory of `settings`, prints the address of its page, and sends results of a demo
// project over HTTP, as any project may, until one of the signals arrives. `results_per_s`: rate of results.
Status ShowPage(const settings::RunSettings& settings, double results_per_s, const StopSignals& signals);

}  // namespace cobblestone::cli
