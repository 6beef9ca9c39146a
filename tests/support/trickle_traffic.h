// Traffic of jobs that are paid while they run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "tests/support/like_the_oracle.h"

namespace cobblestone::testing {

// The generator numbers the events of a result from this multiple of the result's id on.
inline constexpr std::uint64_t kEventsOfResult = 256;

// Few results for each host and version, so that none has enough samples for a scale, which the oracle does not know.
inline traffic::GenerateOptions Trickling(std::uint64_t seed) {
  traffic::GenerateOptions options = Eventful(seed);
  options.dispatches = true;
  options.trickles = 6;
  options.bad_trickles = 0.3;
  options.apps = 7;
  options.policies = {"benchmark", "assigned", "runtime", "none", "reported-flops"};
  options.results = 700;
  options.hosts = 50;
  options.invalid = 0.1;
  options.owner_changes = 1;
  options.cheats = 0.05;
  return options;
}

// Traffic whose order must not matter: messages arrive in any order relative to each other and to dispatches. No host
// or user moves, because the current owner is paid. Each sequence number is sent once, because the first of two
// increments with one number counts. Each part is in the order of the events.
struct TrickleTraffic {
  Events members;
  Events running;  // dispatches and messages
  Events results;
};

inline TrickleTraffic UnorderedTrickles(traffic::GenerateOptions options) {
  options.conflicts = 0;
  options.bad_lines = 0;
  options.team_changes = 0;
  options.owner_changes = 0;
  options.tick_period = 0;
  TrickleTraffic traffic;
  std::set<std::pair<std::uint64_t, std::uint64_t>> sequences;  // result, sequence
  for (const std::string& envelope : Generate(options)) {
    const auto event = wire::ParseEvent(envelope);
    EXPECT_TRUE(event.ok());
    const auto* trickle = std::get_if<wire::Trickle>(&event->body);
    if (trickle != nullptr && trickle->sequence &&
        !sequences.emplace(event->head.id / kEventsOfResult, *trickle->sequence).second)
      continue;
    const bool result = std::holds_alternative<wire::Completion>(event->body) ||
                        std::holds_alternative<credit::ValidationFacts>(event->body);
    const bool running = trickle != nullptr || std::holds_alternative<wire::Dispatch>(event->body);
    (result ? traffic.results : running ? traffic.running : traffic.members).push_back(envelope);
  }
  return traffic;
}

// Drops messages dated after the end of their job, whose effect depends on whether the end is already known.
inline void DropMessagesAfterTheEnd(TrickleTraffic& traffic) {
  std::map<std::uint64_t, double> back;
  for (const std::string& envelope : traffic.results) {
    const auto event = wire::ParseEvent(envelope);
    if (std::holds_alternative<wire::Completion>(event->body))
      back[event->head.id / kEventsOfResult] = event->head.time;
  }
  std::erase_if(traffic.running, [&](const std::string& envelope) {
    const auto event = wire::ParseEvent(envelope);
    const auto end = std::holds_alternative<wire::Trickle>(event->body)
                         ? back.find(event->head.id / kEventsOfResult)
                         : back.end();
    return end != back.end() && event->head.time > end->second;
  });
}

}  // namespace cobblestone::testing
