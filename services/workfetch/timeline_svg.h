// A picture of an example: for each variant, resource and project the part of the resource that the project uses over time.
#pragma once

#include <string>
#include <vector>

#include "services/workfetch/example_text.h"

namespace cobblestone::workfetch {

// An SVG file without scripts, fonts or references. The same outcomes give the same bytes.
std::string TimelineSvg(const Example& example, const std::vector<VariantOutcome>& outcomes);

}  // namespace cobblestone::workfetch
