// The pipeline on one machine as the gateway wants it (services/gateway/pipeline.h).
#pragma once

#include <memory>

#include "services/embedded/engine.h"
#include "services/embedded/engine_metrics.h"
#include "services/gateway/pipeline.h"

namespace cobblestone {

// `runs`: the engine was started; else nothing is taken in. The engine must outlive it.
std::unique_ptr<gateway::Pipeline> MakeEnginePipeline(Engine& engine, bool runs, EngineMetrics* metrics);

}  // namespace cobblestone
