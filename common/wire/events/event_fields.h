// Shared by the .cc files of this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/credit/model/model.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// An enum on the wire is any 32-bit number; ours are bytes. What does not fit becomes 255, which no enum has,
// so that 258 is not taken for 2.
template <class E>
constexpr E NarrowEnum(std::uint64_t v) {
  const auto low = static_cast<std::uint32_t>(v);
  return static_cast<E>(low < 255 ? low : 255);
}

// Adds one device to the sums of a completion or dispatch. The order of addition is that of the event.
inline void AddUsage(const DeviceUsage& usage, credit::CompletionFacts* facts) {
  facts->devices += usage.count;
  if (usage.resource == credit::Resource::kCpu) {
    facts->cpus_used += usage.count;
  } else if (usage.resource != credit::Resource::kUnknown) {
    facts->gpus_used += usage.count;
  }
  if (usage.peak_flops == 0) return;
  auto kind = static_cast<std::size_t>(usage.resource);
  if (kind >= credit::kResources) kind = static_cast<std::size_t>(credit::Resource::kUnknown);
  facts->rated[kind].count += usage.count;
  facts->rated[kind].peak_flops += usage.count * usage.peak_flops;
}

}  // namespace cobblestone::wire
