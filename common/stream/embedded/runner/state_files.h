// Paths of the states of slots and of their checkpoints in the runner's directory.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/stream/embedded/runner/runner_options.h"

namespace cobblestone::stream::embedded {

std::string StatePath(const RunnerOptions& options, std::uint32_t slot);
// A directory with one copy of the state per name; the name is the sequence of the copy.
std::string CheckpointPath(const RunnerOptions& options, std::uint32_t slot);

// Marks a state as damaged, with the reason, in a file beside it: an open may not read the damaged part, and the next
// open must not use the state.
void Distrust(const std::string& state_path, const Status& why);
bool IsDistrusted(const std::string& state_path);
void RemoveDistrust(const std::string& state_path);

// Moves a state to the path that is returned. Replaces the state that was moved there before.
std::string Quarantine(const std::string& state_path);

}  // namespace cobblestone::stream::embedded
