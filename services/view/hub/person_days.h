// The daily history of a person over projects, in Cobblestones.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/accounts/corrected_day.h"
#include "services/view/hub/cobblestones.h"

namespace cobblestone::view {

class PersonDays {
 public:
  // The days of one account of the person, in points of its project. `corrections`: as the project has sent them. They count as
  // credit of the day on which they came, as in the days.
  void Add(ProjectId project, std::uint64_t user, const Points& points,
           const std::vector<credit::DaySum>& days, const std::vector<credit::CorrectedDay>& corrections);

  // [{"day", "credit": {PROJECT: text}}], ascending; days without credit are left out.
  [[nodiscard]] nlohmann::json Days() const;
  // [{"project", "user", "day_came", "day_about", "credit", "note"}], ascending by "day_came": corrections that a project has
  // sent, and falls of a total that none of them explains. "day_about" of a fall is null: statistics files do not say for
  // which day a total was corrected.
  [[nodiscard]] nlohmann::json Corrections() const;

 private:
  struct Correction {
    std::uint32_t project = 0;
    std::uint64_t user = 0;
    credit::MicroTotal micro = 0;
    std::int64_t about = 0;  // 0: unknown
    bool sent = false;       // by the project
  };
  std::map<std::int64_t, std::map<std::uint32_t, credit::MicroTotal>> days_;  // by day and project
  std::multimap<std::int64_t, Correction> corrections_;                       // by the day on which it came
};

}  // namespace cobblestone::view
