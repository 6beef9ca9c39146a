// The records of one project on one day (federation.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "services/traffic/federation.h"

namespace cobblestone::traffic {

// What is common to all projects: how many people and team names there are.
struct FederationWorld {
  std::uint64_t people = 1;
  std::uint64_t team_names = 1;
};

struct FederationPart {
  const FederationOptions* options = nullptr;
  FederationWorld world{};
  FederationSize size{};      // on day 0
  std::uint32_t project = 1;  // from 1 on
  std::uint32_t day = 0;
};

// Writes all files of the project into an existing directory. `report` is called now and then with the number of records and of
// bytes since its last call.
Status WriteFederationPart(const FederationPart& part, const std::string& directory,
                           const std::function<void(std::uint64_t records, std::uint64_t bytes)>& report);

}  // namespace cobblestone::traffic
