// What the system knows of this process, under the names that every Prometheus client library gives, and of the disk that
// its data lie on.
#pragma once

#include <string>

#include "services/metrics/families.h"

namespace cobblestone::metrics {

void AddProcess(Families* all);
// `directory` on the disk; what cannot be asked is left out.
void AddDisk(const std::string& directory, Families* all);
// This build, as a label.
void AddBuild(Families* all);

}  // namespace cobblestone::metrics
