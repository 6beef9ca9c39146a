// A refused record as it is told to people.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "common/wire/refused_codec.h"

namespace cobblestone {

// `number`: where it is among the refusals.
nlohmann::json RefusedJson(std::uint64_t number, const wire::Refused& refused);

}  // namespace cobblestone
