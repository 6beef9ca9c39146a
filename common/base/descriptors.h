// The limit of open files and sockets of this process.
#pragma once

#include <cstddef>

namespace cobblestone {

// Descriptors reserved for the pipeline: log, state, checkpoints, exports, broker connections. Not for
// clients.
inline constexpr std::size_t kReservedDescriptors = 512;

// Raises the soft limit of open files to the hard limit, at most 65,536. Call once, at program start.
void RaiseDescriptorLimit();

// Number of client connections, at most `wanted`: what the limit leaves beside the reserved descriptors; 0 if
// that is less than 8.
std::size_t DescriptorsFor(std::size_t wanted);

}  // namespace cobblestone
