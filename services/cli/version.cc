#include "services/cli/version.h"

#include "services/pipeline/rules_version.h"

namespace cobblestone::cli {

using pipeline::kRulesVersion;

std::string VersionText(const std::string& commit) {
  const std::string rules = std::to_string(kRulesVersion);
  return std::string("cobblestone ") + COBBLESTONE_VERSION + "\ncommit " + commit + "\nrules version " +
         rules + "\nstate version " + rules;
}

}  // namespace cobblestone::cli
