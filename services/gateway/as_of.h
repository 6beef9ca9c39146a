// `as_of` of an answer that concerns no single project.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "services/view/questions.h"

namespace cobblestone::gateway {

// {"positions", "asked_at"}, in the form of view::Questions::AsOf; null while no state exists yet (on Kafka, at
// first). The caller reads `as_of` before the data: the answer then rests on these positions or on later ones.
nlohmann::json AsOfAll(view::Questions& questions);

}  // namespace cobblestone::gateway
