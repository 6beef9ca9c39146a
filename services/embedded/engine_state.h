// The state of an embedded pipeline for services/view: read from the running slots, or from disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/stream/embedded/runner.h"
#include "services/pipeline/pipeline.h"
#include "services/view/state.h"

namespace cobblestone::embedded {

// Reads each row as of the slot's last commit, between two waves. Always current, but each read takes a turn of the
// slot. For single questions. The runner must outlive it.
std::unique_ptr<view::State> MakeLiveState(stream::embedded::Runner& runner,
                                           const pipeline::PipelineOptions& pipeline);

// Reads the state on disk, written some seconds ago. Costs the pipeline only disk reads. For many or long questions.
// The runner must outlive the result and its snapshots.
std::unique_ptr<view::State> MakeStoredState(const stream::embedded::Runner& runner,
                                             const pipeline::PipelineOptions& pipeline);

// Opens the copies that Engine::CopyState() made, for use by another process. The copies do not change, and are
// deleted when the result is destroyed.
Result<std::unique_ptr<view::State>> OpenCopiedState(const std::string& directory,
                                                     const pipeline::PipelineOptions& pipeline);
// Path of the copy of `slot` in a directory.
std::string CopyOf(const std::string& directory, std::uint32_t slot);

}  // namespace cobblestone::embedded
