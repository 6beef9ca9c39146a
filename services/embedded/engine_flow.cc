#include "services/embedded/engine_flow.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/wire/control/topics.h"

namespace cobblestone::embedded {

EngineFlow::Counts EngineFlow::Look() const {
  const EngineCounts records = engine_.Counts();
  Counts counts{.completions = records.completions, .grants = records.grants};
  counts.refused = engine_.log().End({wire::kRefused, 0});
  for (const auto& slot : engine_.runner().Look()) counts.lag += slot.lag;
  return counts;
}

std::optional<nlohmann::json> EngineFlow::Report() {
  const auto now = Clock::now();
  if (now - reported_ < kEvery) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - reported_).count();
  const Counts before = last_;
  last_ = Look();
  reported_ = now;
  if (!last_.Moved(before) && last_.lag == 0) return std::nullopt;
  const auto rate = [seconds](std::uint64_t after, std::uint64_t earlier) {
    return std::llround(static_cast<double>(after - earlier) / seconds);
  };
  return nlohmann::json{{"results_per_s", rate(last_.completions, before.completions)},
                        {"grants_per_s", rate(last_.grants, before.grants)},
                        {"lag", last_.lag},
                        {"refused", last_.refused - before.refused},
                        {"refused_in_all", last_.refused}};
}

}  // namespace cobblestone::embedded
