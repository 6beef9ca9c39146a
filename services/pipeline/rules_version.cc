#include "services/pipeline/rules_version.h"

namespace cobblestone {

const std::uint32_t kRulesVersion = 1;

}  // namespace cobblestone
