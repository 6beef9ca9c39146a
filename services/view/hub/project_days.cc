#include "services/view/hub/project_days.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "services/feeds/feed_rows.h"
#include "services/view/json.h"

namespace cobblestone::view {

using nlohmann::json;

Result<json> ProjectDays(const Rows& leading, ProjectId project) {
  const auto known = Find(leading, feeds::kProjectsTable, feeds::ProjectKey(project));
  if (!known.ok()) return known.status();
  if (!*known)
    return Status::NotFound("project " + std::to_string(project.value) + " is not registered with this hub");
  std::map<std::uint64_t, feeds::ProjectDayRow> days;
  Status read = leading.ScanOf(feeds::kProjectDaysTable.id, project, 0,
                               [&](const stream::Key& key, std::string_view bytes) {
                                 return stream::DecodeRow(feeds::kProjectDaysTable, bytes, days[key.sub]);
                               });
  if (!read.ok()) return read;
  json shown = json::array();
  for (const auto& [number, day] : days) {
    json one{{"day", number},
             {"credit", MicroText(day.micro)},
             {"accounts", day.accounts},
             {"edition", day.edition}};
    if (day.micro < 0) one["correction"] = true;
    shown.push_back(std::move(one));
  }
  return shown;
}

}  // namespace cobblestone::view
