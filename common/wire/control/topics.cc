#include "common/wire/control/topics.h"

namespace cobblestone::wire {

std::vector<stream::TopicSpec> Manifest(std::uint32_t partitions) {
  using stream::Retention;
  return {
      {.name = "completions", .partitions = partitions},
      {.name = "validations", .partitions = partitions},
      {.name = "dispatches", .partitions = partitions},
      {.name = "trickles", .partitions = partitions},
      {.name = "hosts", .partitions = partitions},
      {.name = "users", .partitions = partitions},
      {.name = "teams", .partitions = partitions},
      {.name = "catalogue", .partitions = 1},
      {.name = "control", .partitions = partitions, .retention = Retention::kForever},
      {.name = "claims", .partitions = partitions},
      {.name = "grants", .partitions = partitions, .retention = Retention::kForever},
      {.name = "postings", .partitions = partitions, .retention = Retention::kForever},
      {.name = "totals", .partitions = partitions},
      {.name = "samples", .partitions = 1},
      {.name = "refused", .partitions = 1, .retention = Retention::kForever},
      {.name = "journal", .partitions = partitions + 1},
      {.name = "passed", .partitions = 1},
      {.name = "identity-facts", .partitions = 1},
  };
}

std::string_view TopicName(stream::TopicIndex topic) {
  static const std::vector<stream::TopicSpec> manifest = Manifest(1);
  return topic < manifest.size() ? std::string_view(manifest[topic].name) : "unknown";
}

std::uint32_t PartitionOf(ProjectId project, std::uint64_t id, std::uint32_t partitions) {
  std::uint64_t z = id + project.value * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return static_cast<std::uint32_t>(((z >> 32) * partitions) >> 32);
}

stream::TopicPartition RouteEvent(const Routing& routing, std::uint32_t partitions) {
  const auto keyed = [&](Topic topic) {
    return stream::TopicPartition{topic, PartitionOf(routing.project, routing.id, partitions)};
  };
  switch (routing.kind) {
    case EventKind::kCompletion: return keyed(kCompletions);
    case EventKind::kValidation: return keyed(kValidations);
    case EventKind::kDispatch: return keyed(kDispatches);
    case EventKind::kTrickle: return keyed(kTrickles);
    case EventKind::kHost:
    case EventKind::kHostMerge:
    case EventKind::kHostAsked:
    case EventKind::kHeldResult:
    case EventKind::kHandedEvent:
    case EventKind::kDecidedResult:
    case EventKind::kJobReversal:
    case EventKind::kJobRepricing:
    case EventKind::kOpeningHostVersion: return keyed(kHosts);
    case EventKind::kMachineHost:
    case EventKind::kEstimatedCredit: return {kHosts, PartitionOf(ProjectId(), routing.id, partitions)};
    case EventKind::kReversal:
    case EventKind::kRepricing: return keyed(kUsers);
    case EventKind::kUser: return keyed(kUsers);
    case EventKind::kTeam: return keyed(kTeams);
    case EventKind::kAccountFacts:
    case EventKind::kFeedAccount:
    case EventKind::kOpeningTotal:
      return keyed(routing.key == KeyKind::kUser ? kUsers : routing.key == KeyKind::kTeam ? kTeams : kHosts);
    case EventKind::kNone: return {kCompletions, 0};
    default: return {kCatalogue, 0};
  }
}

stream::TopicPartition RouteEvent(std::string_view envelope, std::uint32_t partitions) {
  const auto routing = PeekRouting(envelope);
  if (!routing) return {kCompletions, 0};
  return RouteEvent(*routing, partitions);
}

}  // namespace cobblestone::wire
