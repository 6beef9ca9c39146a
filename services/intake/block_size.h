// Sizes of the blocks in which sources are ingested, from files and over HTTP.
#pragma once

#include <cstddef>

namespace cobblestone::intake {

// A block costs one request and one synced write: large enough to be rare, small enough to overlap with the next one.
inline constexpr std::size_t kBlockBytes = 1u << 20;
inline constexpr std::size_t kBlockLines = 20000;
// Other sources wait until a block of broadcasts is processed, so it is short. (With `order: lockstep` one source
// appends at a time.)
inline constexpr std::size_t kBlockBroadcasts = 200;

}  // namespace cobblestone::intake
