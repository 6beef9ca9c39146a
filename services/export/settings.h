// What a project's configuration says about its statistics files: the names of BOINC's config.xml and consent table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::statistics {

struct Settings {
  // Absent means on, as upstream has it.
  bool user_country = true;
  bool user_url = true;
  bool credit_by_app = false;
  // Whether the consent type STATSEXPORT is enabled; without a value as the source says.
  std::optional<bool> statsexport_enabled;
  // Not upstream's: what it writes ill-formed is repaired (strict_xml.h).
  bool strict_xml = false;
};

// From texts like user_country=1. InvalidArgument that names the text and the settings that there are.
Result<Settings> ParseSettings(const std::vector<std::string>& assignments);

}  // namespace cobblestone::statistics
