// The embedded pipeline behind the gateway's interface (services/gateway/pipeline.h).
#pragma once

#include <memory>

#include "services/embedded/engine.h"
#include "services/embedded/engine_metrics.h"
#include "services/gateway/pipeline.h"

namespace cobblestone::access {

// `runs`: the engine was started; if not, nothing is ingested. The engine must outlive the result.
std::unique_ptr<gateway::Pipeline> MakeEnginePipeline(embedded::Engine& engine, bool runs,
                                                      embedded::EngineMetrics* metrics);

}  // namespace cobblestone::access
