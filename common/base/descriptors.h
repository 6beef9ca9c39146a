// How many files and sockets this process may have open.
#pragma once

#include <cstddef>

namespace cobblestone {

// What the pipeline itself may have open at a time: log, state, checkpoints, exports, a broker's connections. Not for clients.
inline constexpr std::size_t kReservedDescriptors = 512;

// Raises the soft limit of open files to the hard one, 65,536 at most. To be called once, at the start of the program.
void RaiseDescriptorLimit();

// How many of `wanted` connections clients may have: fewer where the limit leaves no more beside what is reserved; 0 where it
// leaves less than 8.
std::size_t DescriptorsFor(std::size_t wanted);

}  // namespace cobblestone
