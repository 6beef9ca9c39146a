// Policy `runtime`: BOINC's credit from run time (golden README, item 28; scenario s12b). Claim: elapsed time
// x peak FLOP/s, as credit. Grant: the low average of the claims, including claims of invalid results. A late
// result is priced by policy `boinc` and updates that policy's statistics, as in BOINC.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& RuntimePolicy();

}  // namespace cobblestone::credit
