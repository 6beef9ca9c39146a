// A project in the coordinator's state, decoded once per version of the state.
#pragma once

#include <cstdint>

#include "services/coordinator/coordinator_stage.h"
#include "services/view/questions.h"

namespace cobblestone::view {

struct Questions::ProjectNow {
  std::uint64_t sequence = 0;  // of the coordinator's commits
  coordinator::ProjectState state;
  bool consent_wanted = false;  // statistics name only users who have consented
  coordinator::FactorOriginsRow factors;
};

inline stream::Key KeyOf(ProjectId project, std::uint64_t id) {
  return {.project = project.value, .id = id, .sub = 0};
}

inline Status NoSuchProject(ProjectId project) {
  return Status::NotFound("there is no project " + std::to_string(project.value));
}

}  // namespace cobblestone::view
