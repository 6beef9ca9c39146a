// Valid events about one job of app 1; a test changes the fields that it is about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/wire/events/event_codec.h"

namespace cobblestone::testing {

// A success that was sent 200 s before it was reported at `time` (UNIX s).
inline wire::Completion CompletionOf(std::uint64_t result, std::uint64_t host, std::uint64_t workunit,
                                     double time) {
  wire::Completion completion;
  completion.facts.result = ResultId(result);
  completion.facts.host = HostId(host);
  completion.facts.workunit = WorkunitId(workunit);
  completion.facts.app = AppId(1);
  completion.facts.outcome = credit::Outcome::kSuccess;
  completion.facts.sent_time = time - 200;
  completion.facts.received_time = time;
  return completion;
}

// Sent to a host of 1 GFLOPS, which 1e15 FLOPs keep busy for twelve days.
inline wire::Dispatch DispatchOf(std::uint64_t result, std::uint64_t host, double time,
                                 const std::string& name = {}) {
  wire::Dispatch dispatch;
  dispatch.facts.result = ResultId(result);
  dispatch.facts.host = HostId(host);
  dispatch.facts.workunit = WorkunitId(result);
  dispatch.facts.app = AppId(1);
  dispatch.facts.version = AppVersionId(1);
  dispatch.facts.peak_flops = 1e9;
  dispatch.facts.sent_time = time;
  dispatch.fpops_est = 1e15;
  dispatch.fpops_bound = 1e17;
  dispatch.result_name = name;
  return dispatch;
}

// Valid in the first pass, the only replica, worth `credit` Cobblestones under policy `assigned`.
inline credit::ValidationFacts ValidationOf(std::uint64_t result, std::uint64_t host, std::uint64_t workunit,
                                            double credit) {
  credit::ValidationFacts facts;
  facts.result = ResultId(result);
  facts.host = HostId(host);
  facts.workunit = WorkunitId(workunit);
  facts.app = AppId(1);
  facts.fpops_est = 1e12;
  facts.fpops_bound = 1e14;
  facts.state = credit::ValidateState::kValid;
  facts.pass = 1;
  facts.claims = 1;
  facts.assigned_credit = credit;
  return facts;
}

// Appends the event. For one result in thirteen the completion and the validation are also sent for another host,
// before or after the original: two hosts claim the result, and one of them gets it.
inline void AppendContested(std::string_view envelope, std::uint64_t hosts, std::vector<std::string>* out) {
  std::uint64_t result = 0;
  std::string other;
  const auto of_another_host = [&](wire::Event& event, auto& facts) {
    result = facts.result.value;
    facts.host = HostId(1 + (facts.host.value + result / 13) % hosts);
    other = wire::EncodeEvent(event);
  };
  if (auto event = wire::ParseEvent(envelope); event.ok()) {
    if (auto* completion = std::get_if<wire::Completion>(&event->body))
      of_another_host(*event, completion->facts);
    if (auto* facts = std::get_if<credit::ValidationFacts>(&event->body)) of_another_host(*event, *facts);
  }
  const bool contested = !other.empty() && result % 13 == 0;
  if (contested && result % 2 == 0) out->push_back(other);
  out->emplace_back(envelope);
  if (contested && result % 2 != 0) out->push_back(other);
}

}  // namespace cobblestone::testing
