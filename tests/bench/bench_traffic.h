// Shared by the end-to-end benchmarks: traffic prepared in memory, and the earliest time to post each of its
// results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/embedded/engine.h"
#include "services/traffic/generate.h"

namespace cobblestone {

// Two replicas for each workunit, without errors, timeouts and invalid results; five in a hundred validations come
// before their completion.
traffic::GenerateOptions PlainTraffic(std::uint64_t results, std::uint64_t hosts, const std::string& policy);

struct Prepared {
  std::vector<intake::AppendBlock> members;  // catalogue and members, sent before the measurement
  std::vector<intake::AppendBlock>
      blocks;  // one completion and one validation per result; dispatches and trickles, if there are any
  std::uint64_t results = 0;
  std::uint64_t trickles = 0;
};

// Blocks of about `size` events, in the order of the generator. `wait`: the number of later validations that the
// generator makes before a delayed validation is sent.
Prepared Prepare(const traffic::GenerateOptions& options, std::size_t size, std::uint64_t wait);

inline constexpr std::uint32_t kNoBlock = UINT32_MAX;

// For each result, by its number: the block that makes the decision on its workunit possible. The block has the
// last of the four events (two completions, two validations) of the workunit.
std::vector<std::uint32_t> DecidingBlocks(const std::vector<intake::AppendBlock>& blocks);

// CPU time of all threads of this process, s.
double CpuSeconds();

}  // namespace cobblestone
