#include "services/view/hub/person_days.h"

#include <nlohmann/json.hpp>
#include <string>

#include "services/view/hub/cobblestones.h"
#include "services/view/json.h"

namespace cobblestone::view {

using nlohmann::json;

void PersonDays::Add(ProjectId project, std::uint64_t user, double points,
                     const std::vector<credit::DaySum>& days) {
  for (const credit::DaySum& day : days) {
    if (day.micro == 0) continue;
    const credit::MicroTotal micro = InCobblestones(day.micro, points);
    days_[day.day][project.value] += micro;
    if (micro < 0)
      corrections_.emplace(day.day, Correction{.project = project.value, .user = user, .micro = micro});
  }
}

json PersonDays::Days() const {
  json shown = json::array();
  for (const auto& [day, projects] : days_) {
    json credit = json::object();
    for (const auto& [project, micro] : projects) credit[std::to_string(project)] = MicroText(micro);
    shown.push_back({{"day", day}, {"credit", std::move(credit)}});
  }
  return shown;
}

json PersonDays::Corrections() const {
  json shown = json::array();
  for (const auto& [day, one] : corrections_)
    shown.push_back({{"project", one.project},
                     {"user", one.user},
                     {"day_came", day},
                     {"day_about", nullptr},
                     {"credit", MicroText(one.micro)},
                     {"note", "the project lowered the total of this account"}});
  return shown;
}

}  // namespace cobblestone::view
