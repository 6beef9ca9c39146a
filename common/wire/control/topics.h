// The topics of a deployment, their partitions, and the partitioner: pinned, because a key must find its partition for
// as long as the data lives. Spelled out for producers in other languages in schemas/README.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/stream/record.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::wire {

// Frozen numbers: the manifest of a data directory holds topics in this order.
enum Topic : stream::TopicIndex {
  kCompletions = 0,  // by host
  kValidations = 1,  // by host
  kDispatches = 2,   // by host
  kTrickles = 3,     // by host
  kHosts = 4,        // by host: members, openings, reversals of running jobs; by machine: estimated credit
  kUsers = 5,        // by user: members, openings, reversals, re-pricings
  kTeams = 6,        // by team: members, openings
  kCatalogue = 7,    // one partition: all broadcasts, ticks, barriers; to the coordinator
  kControl = 8,      // what the coordinator relays to every partition, scale epochs and marks too
  kClaims = 9,       // by block of workunits
  kGrants = 10,      // by user: the ledger
  kPostings = 11,    // by team: the ledger, as it reached teams
  kTotals = 12,      // by account, newest counts
  kSamples = 13,     // one partition: to the coordinator
  kRefused = 14,     // one partition
  kJournal = 15,     // one partition per slot, the coordinator's last
  kPassed = 16,      // one partition: which marks each partition has passed
  kTopicCount = 17,
};

std::string_view TopicName(stream::TopicIndex topic);

// `partitions`: number of slots without the coordinator's.
std::vector<stream::TopicSpec> Manifest(std::uint32_t partitions);

// splitmix64 of id + project * 0x9E3779B97F4A7C15, upper 32 bits scaled to the number of partitions.
std::uint32_t PartitionOf(ProjectId project, std::uint64_t id, std::uint32_t partitions);

// Workunits of one block share a partition and, once decided, a state row.
inline constexpr unsigned kWorkunitBlockBits = 5;
inline std::uint32_t WorkunitPartition(ProjectId project, WorkunitId workunit, std::uint32_t partitions) {
  return PartitionOf(project, workunit.value >> kWorkunitBlockBits, partitions);
}

// Where an account's postings go: the owner's partition; a host of nobody by its own number.
inline std::uint32_t OwnerPartition(ProjectId project, UserId user, HostId host, std::uint32_t partitions) {
  return PartitionOf(project, user ? user.value : ~host.value, partitions);
}

// Topic and partition of an event; bytes that are no envelope go to kCompletions, partition 0, and are refused there.
stream::TopicPartition RouteEvent(std::string_view envelope, std::uint32_t partitions);
stream::TopicPartition RouteEvent(const Routing& routing, std::uint32_t partitions);

}  // namespace cobblestone::wire
