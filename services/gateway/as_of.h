// On what an answer rests that is about no one project.
#pragma once

#include <nlohmann/json.hpp>

#include "services/view/questions.h"

namespace cobblestone::gateway {

// {"positions", "asked_at"}, as view::Questions::AsOf has them; null where no state is here yet (beside Kafka, at first). To be
// asked before what it stands beside, which then rests on that or more.
nlohmann::json AsOfAll(view::Questions& questions);

}  // namespace cobblestone::gateway
