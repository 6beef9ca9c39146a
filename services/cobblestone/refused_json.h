// A refused record as it is told to people.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/wire/refused_codec.h"

namespace cobblestone {

// `number`: where it is among the refusals.
nlohmann::json RefusedJson(std::uint64_t number, const wire::Refused& refused);
// Or why it cannot be given to the pipeline once more.
Status MayBeResubmitted(std::uint64_t number, const wire::Refused& refused);

}  // namespace cobblestone
