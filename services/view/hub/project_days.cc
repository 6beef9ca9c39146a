#include "services/view/hub/project_days.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "services/feeds/feed_rows.h"
#include "services/view/json.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

struct ProjectDay {
  credit::MicroTotal micro = 0;
  std::uint64_t accounts = 0;
  std::uint64_t edition = 0;
};

json DayJson(std::int64_t number, const ProjectDay& day) {
  json shown{{"day", number}, {"credit", MicroText(day.micro)}};
  if (day.edition != 0) {
    shown["accounts"] = day.accounts;
    shown["edition"] = day.edition;
  }
  if (day.micro < 0) shown["correction"] = true;
  return shown;
}

}  // namespace

Result<json> ProjectDays(const Rows& leading, const HubIndex* index, ProjectId project) {
  const auto known = Find(leading, feeds::kProjectsTable, feeds::ProjectKey(project));
  if (!known.ok()) return known.status();
  if (!*known)
    return Status::NotFound("project " + std::to_string(project.value) + " is not registered with this hub");
  json shown = json::array();
  if ((*known)->project.mode == wire::FeedMode::kDirect) {
    const IndexedProject* of = index == nullptr ? nullptr : index->FindProject(project);
    if (of != nullptr)
      for (const credit::DaySum& day : of->days)
        if (day.micro != 0) shown.push_back(DayJson(day.day, {.micro = day.micro}));
    return shown;
  }
  struct Sum {
    std::int64_t day = 0;
    wire::FeedSum users;
  };
  std::map<std::uint64_t, Sum> editions;
  Status read =
      ForEach(leading, feeds::kEditionsTable, [&](const stream::Key& key, const feeds::EditionRow& row) {
        if (key.project != project.value || row.edition.state != wire::EditionState::kComplete)
          return Status::Ok();
        for (const wire::FeedSum& sum : row.edition.sums)
          if (sum.kind == wire::AccountKind::kUser)
            editions[key.id] = {.day = credit::DayOf(row.ended.time), .users = sum};
        return Status::Ok();
      });
  if (!read.ok()) return read;
  std::map<std::int64_t, ProjectDay> days;
  std::optional<credit::MicroTotal> before;
  for (const auto& [number, edition] : editions) {
    if (before) {
      ProjectDay& day = days[edition.day];
      day.micro += edition.users.total_micro - *before;
      day.accounts = edition.users.accounts;
      day.edition = number;
    }
    before = edition.users.total_micro;
  }
  for (const auto& [number, day] : days) shown.push_back(DayJson(number, day));
  return shown;
}

}  // namespace cobblestone::view
