// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "common/base/status.h"

namespace cobblestone::lab {

// Calls run(0) to run(count - 1) on at most `threads` threads (0: one for each core), and starts them in this order.
// `run` must be safe to call from several threads. A failure ends the starts; the result is the failure with the least
// index, so neither result nor status depends on the number of threads.
Status RunInParallel(std::size_t count, unsigned threads, const std::function<Status(std::size_t)>& run);

}  // namespace cobblestone::lab
