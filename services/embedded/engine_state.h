// The state of a pipeline on one machine, as services/view wants it: asked of the running slots, or as it lies on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/stream/embedded/runner.h"
#include "services/pipeline/pipeline.h"
#include "services/view/state.h"

namespace cobblestone {

// Each row as of the slot's last commit, between two waves: nothing is newer, but it takes a turn of the slot. For questions
// that come one at a time. The runner must outlive it.
std::unique_ptr<view::State> MakeLiveState(stream::embedded::Runner& runner, const PipelineOptions& pipeline);

// As it was written some seconds ago: costs the pipeline nothing but reads of its disk. For many questions, and for long
// ones. The runner must outlive it and what it gave.
std::unique_ptr<view::State> MakeStoredState(const stream::embedded::Runner& runner,
                                             const PipelineOptions& pipeline);

// The copies that Engine::CopyState() has made, which stay as they are; removed when it ends. For another process.
Result<std::unique_ptr<view::State>> OpenCopiedState(const std::string& directory,
                                                     const PipelineOptions& pipeline);
// Where copy `slot` of a directory is.
std::string CopyOf(const std::string& directory, std::uint32_t slot);

}  // namespace cobblestone
