// The daily history of a project's credit, as a hub knows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/view/state.h"

namespace cobblestone::view {

// [{"day", "credit", "accounts", "edition", "correction"?}], ascending, in points of the project. From the users' sums of
// its complete editions: what one edition has more than the edition before counts for the later one's day.
// "correction": the day is negative. `leading`: rows of FEEDS. kNotFound: the project is not registered.
Result<nlohmann::json> ProjectDays(const Rows& leading, ProjectId project);

}  // namespace cobblestone::view
