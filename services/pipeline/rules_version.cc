#include "services/pipeline/rules_version.h"

namespace cobblestone {

const std::uint32_t kRulesVersion = 11;

}  // namespace cobblestone
