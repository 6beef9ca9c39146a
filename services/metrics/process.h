// Metrics of this process from the operating system, under the names that all Prometheus client libraries use, and of
// the disk with its data.
#pragma once

#include <string>

#include "services/metrics/families.h"

namespace cobblestone::metrics {

void AddProcess(Families* all);
// `directory`: any directory of the disk; unavailable values are left out.
void AddDisk(const std::string& directory, Families* all);
// This build, as a label.
void AddBuild(Families* all);

}  // namespace cobblestone::metrics
