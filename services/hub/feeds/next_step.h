// What an operator of a hub does about a file that is held or cannot be fetched: one short text for each reason. The texts are in
// docs/operations/federation-hub.md as well. Pure functions, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "services/hub/feeds/acceptance.h"
#include "services/hub/feeds/fetcher.h"
#include "services/hub/feeds/file_problem.h"
#include "services/hub/feeds/project_health.h"

namespace cobblestone::hub {

// Sentences. "" for kNone and for numbers without a name.
std::string_view NextStep(HoldReason reason);
std::string_view NextStep(FileProblem problem);
std::string_view NextStep(FetchFailure failure);
// "" for a condition that only the project can change.
std::string_view NextStep(HealthState state);

// What may become of held files.
enum class HeldEnd : std::uint8_t {
  kByProject,   // they cannot be read, so nobody can accept them
  kByItself,    // a second fetch confirms them, or an operator does it at once
  kByOperator,  // an operator accepts them
};
// "If the files are right, ... `cobblestone hub release 3` ...".
std::string HowItEnds(HeldEnd end, ProjectId project);

// The steps of several reasons, each one once.
class NextSteps {
 public:
  void Add(std::string_view step);
  // Joined with spaces.
  [[nodiscard]] std::string Text() const;

 private:
  std::vector<std::string> steps_;
};

}  // namespace cobblestone::hub
