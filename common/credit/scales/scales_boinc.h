// The coordinator's arithmetic for apps of the policies `boinc` and `runtime` (golden README, items 24 to
// 27): the flush of the validators' memory, then the feeder's version scales. Pure; one app at a time,
// independent of all other apps.
#pragma once

#include <span>

#include "common/credit/scales/scales.h"

namespace cobblestone::credit {

// One tick of one app. `samples_of_app`: the samples since the last tick, sorted by (time, validation_id,
// result).
void ApplyTickBoinc(double now, AppId app, std::span<const Sample> samples_of_app, const Catalogue& catalogue,
                    ScaleState& state);

}  // namespace cobblestone::credit
