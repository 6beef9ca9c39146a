#include "services/cobblestone/rules_version.h"

namespace cobblestone {

const std::uint32_t kRulesVersion = 8;

}  // namespace cobblestone
