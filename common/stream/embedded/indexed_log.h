// The durable part of an embedded log as an IndexedLog.
#pragma once

#include <memory>

#include "common/stream/embedded/log.h"
#include "common/stream/index/indexed_log.h"

namespace cobblestone::stream::embedded {

// `log` must outlive the result.
std::unique_ptr<IndexedLog> MakeIndexedLog(Log& log);

}  // namespace cobblestone::stream::embedded
