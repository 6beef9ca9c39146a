// The order of host merges that one source sends, where other events of different hosts may pass each other.
//
// Two merges that name a host in common have an order: of two hosts that are merged into each other the first line counts, and the
// second one is refused. So everything before the second one is processed before it is appended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"

namespace cobblestone {

class MergeOrder {
 public:
  // Whether all that the source sent before this event must have been processed. To be asked of each event, in order.
  bool MustWait(wire::EventKind kind, std::string_view envelope) {
    if (kind != wire::EventKind::kHostMerge) return false;
    const auto event = wire::ParseEvent(envelope);
    const auto* merge = event.ok() ? std::get_if<wire::HostMerge>(&event->body) : nullptr;
    if (merge == nullptr) return false;
    const std::uint32_t project = event->head.project.value;
    const Host one{project, merge->host.value};
    const Host other{project, merge->into.value};
    const bool waits = named_.size() >= kMostNamed || named_.count(one) != 0 || named_.count(other) != 0;
    if (waits) named_.clear();
    named_.insert({one, other});
    return waits;
  }

 private:
  using Host = std::pair<std::uint32_t, std::uint64_t>;  // project, number
  static constexpr std::size_t kMostNamed = 100'000;

  std::set<Host> named_;  // in merges since one had to wait
};

}  // namespace cobblestone
