// What the end-to-end measures share: traffic prepared in memory, and when each of its results could be posted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/embedded/engine.h"
#include "services/traffic/generate.h"

namespace cobblestone {

// Two replicas, all good, five in a hundred validations before their completion.
traffic::GenerateOptions PlainTraffic(std::uint64_t results, std::uint64_t hosts, const std::string& policy);

struct Prepared {
  std::vector<embedded::AppendBlock> members;  // catalogue and members, before the clock starts
  std::vector<embedded::AppendBlock>
      blocks;  // one completion and one validation per result; dispatches and trickles, if there are any
  std::uint64_t results = 0;
  std::uint64_t trickles = 0;
};

// Blocks of about `size` events, in the order of the generator. `wait`: validations come so many completions later.
Prepared Prepare(const traffic::GenerateOptions& options, std::size_t size, std::uint64_t wait);

inline constexpr std::uint32_t kNoBlock = UINT32_MAX;

// For each result, by its number, the block with which its workunit could be decided: the one that holds the last half
// of its results.
std::vector<std::uint32_t> DecidingBlocks(const std::vector<embedded::AppendBlock>& blocks);

// Of this process, all threads, s.
double CpuSeconds();

}  // namespace cobblestone
