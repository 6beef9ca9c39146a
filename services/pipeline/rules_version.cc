#include "services/pipeline/rules_version.h"

namespace cobblestone::pipeline {

const std::uint32_t kRulesVersion = 1;

}  // namespace cobblestone::pipeline
