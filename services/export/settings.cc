#include "services/export/settings.h"

namespace cobblestone::exports {

Result<Settings> ParseSettings(const std::vector<std::string>& assignments) {
  Settings settings;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : assignment.substr(equals + 1);
    const bool on = value == "1" || value == "true";
    if (!on && value != "0" && value != "false")
      return Status::InvalidArgument("--setting " + assignment +
                                     ": a value of 0 or 1 must follow the name, as in " + name + "=1");
    if (name == "user_country") {
      settings.user_country = on;
    } else if (name == "user_url") {
      settings.user_url = on;
    } else if (name == "credit_by_app") {
      settings.credit_by_app = on;
    } else if (name == "statsexport_enabled") {
      settings.statsexport_enabled = on;
    } else {
      return Status::InvalidArgument(
          "--setting " + assignment + ": unknown setting '" + name +
          "'; settings: user_country, user_url, credit_by_app, statsexport_enabled");
    }
  }
  return settings;
}

}  // namespace cobblestone::exports
