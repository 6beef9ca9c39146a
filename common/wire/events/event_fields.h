// Shared by the .cc files of this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/credit/model/model.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// Enums on the wire are 32-bit numbers, ours are bytes. Values that do not fit become 255, which no enum
// defines, so that 258 is not read as 2.
template <class E>
constexpr E NarrowEnum(std::uint64_t v) {
  const auto low = static_cast<std::uint32_t>(v);
  return static_cast<E>(low < 255 ? low : 255);
}

// Adds one device to the sums of a completion or dispatch, in the order of the event.
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
