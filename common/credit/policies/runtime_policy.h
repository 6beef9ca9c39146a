// Policy `runtime`: BOINC's credit from run time (golden README, item 28; scenario s12b). Claim: elapsed time
// x peak FLOP/s, as credit. Grant: the low average of the claims, those of invalid results too. A late result
// runs through the statistics of policy `boinc`, as it does upstream.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& RuntimePolicy();

}  // namespace cobblestone::credit
