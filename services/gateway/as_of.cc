#include "services/gateway/as_of.h"

#include <nlohmann/json.hpp>

namespace cobblestone::gateway {

nlohmann::json AsOfAll(view::Questions& questions) {
  auto as_of = questions.AsOf(ProjectId());  // no project has number 0: only the partitions are left
  if (!as_of.ok()) return nullptr;
  for (const char* of_project : {"project", "event_time", "epoch"}) as_of->erase(of_project);
  return std::move(*as_of);
}

}  // namespace cobblestone::gateway
