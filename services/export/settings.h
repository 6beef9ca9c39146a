// A project's settings for its statistics files, with the names of BOINC's config.xml and consent table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::exports {

struct Settings {
  // Absent means on, as upstream.
  bool user_country = true;
  bool user_url = true;
  bool credit_by_app = false;
  // Whether the consent type STATSEXPORT is enabled; nullopt: as in the source.
  std::optional<bool> statsexport_enabled;
  // Not in upstream: repairs text that upstream writes ill-formed (strict_xml.h).
  bool strict_xml = false;
};

// From texts like user_country=1. InvalidArgument names the text and the valid settings.
Result<Settings> ParseSettings(const std::vector<std::string>& assignments);

}  // namespace cobblestone::exports
