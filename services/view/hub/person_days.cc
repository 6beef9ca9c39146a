#include "services/view/hub/person_days.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "services/view/json.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

// Whether a correction explains that the total fell on this day. An edition may be of the day after the correction.
bool Explains(const std::vector<credit::CorrectedDay>& corrections, std::int64_t day) {
  return std::any_of(corrections.begin(), corrections.end(), [day](const credit::CorrectedDay& one) {
    return one.micro < 0 && (one.came == day || one.came == day - 1);
  });
}

}  // namespace

void PersonDays::Add(ProjectId project, std::uint64_t user, const Points& points,
                     const std::vector<credit::DaySum>& days,
                     const std::vector<credit::CorrectedDay>& corrections) {
  for (const credit::CorrectedDay& one : corrections)
    corrections_.emplace(one.came, Correction{.project = project.value,
                                              .user = user,
                                              .micro = points.OfDay(one.micro, one.came),
                                              .about = one.about,
                                              .sent = true});
  for (const credit::DaySum& day : days) {
    if (day.micro == 0) continue;
    const credit::MicroTotal micro = points.OfDay(day.micro, day.day);
    days_[day.day][project.value] += micro;
    if (micro < 0 && !Explains(corrections, day.day))
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
                     {"day_about", one.about == 0 ? json() : json(one.about)},
                     {"credit", MicroText(one.micro)},
                     {"note", one.sent ? "the project corrected credit of this account"
                                       : "the project lowered the total of this account"}});
  return shown;
}

}  // namespace cobblestone::view
