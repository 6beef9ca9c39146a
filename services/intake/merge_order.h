// Keeps the order of host merges of one source, where other events of different hosts may overtake each other.
//
// The order of two merges with a common host matters: if two hosts are merged into each other, the first line counts
// and the second is refused. Therefore everything before the second merge is processed before the second merge is
// appended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"

namespace cobblestone::intake {

class MergeOrder {
 public:
  // True if everything that the source sent before this event must have been processed. Call it for each event, in
  // order.
  bool MustWait(wire::EventKind kind, std::string_view envelope) {
    if (kind != wire::EventKind::kHostMerge) return false;
    const auto event = wire::ParseEvent(envelope);
    const auto* merge = event.ok() ? std::get_if<wire::HostMerge>(&event->body) : nullptr;
    if (merge == nullptr) return false;
    const std::uint32_t project = event->head.project.value;
    const Host one{project, merge->host.value};
    const Host other{project, merge->into.value};
    const bool waits = named_.size() >= kMaxNamed || named_.count(one) != 0 || named_.count(other) != 0;
    if (waits) named_.clear();
    named_.insert({one, other});
    return waits;
  }

 private:
  using Host = std::pair<std::uint32_t, std::uint64_t>;  // project, host id
  static constexpr std::size_t kMaxNamed = 100'000;

  std::set<Host> named_;  // hosts in merges since the last wait
};

}  // namespace cobblestone::intake
