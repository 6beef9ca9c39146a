// The daily history of a person over projects, in Cobblestones.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"

namespace cobblestone::view {

class PersonDays {
 public:
  // The days of one account of the person, in points of its project. `points`: per Cobblestone.
  void Add(ProjectId project, std::uint64_t user, double points, const std::vector<credit::DaySum>& days);

  // [{"day", "credit": {PROJECT: text}}], ascending; days without credit are left out.
  [[nodiscard]] nlohmann::json Days() const;
  // Falls of a total: [{"project", "user", "day_came", "day_about", "credit", "note"}], ascending by the day on which the
  // hub learned of it. "day_about" is null: statistics do not say for which day a total was corrected.
  [[nodiscard]] nlohmann::json Corrections() const;

 private:
  struct Correction {
    std::uint32_t project = 0;
    std::uint64_t user = 0;
    credit::MicroTotal micro = 0;
  };
  std::map<std::int64_t, std::map<std::uint32_t, credit::MicroTotal>> days_;  // by day and project
  std::multimap<std::int64_t, Correction> corrections_;                       // by day
};

}  // namespace cobblestone::view
