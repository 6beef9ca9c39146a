// The topics of a deployment, their partition counts, and the partitioner. The partitioner is frozen, because
// a key must map to the same partition for the life of the data. schemas/README.md specifies it for producers
// in other languages.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/stream/record.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::wire {

// Frozen numbers: the manifest of a data directory lists the topics in this order.
enum Topic : stream::TopicIndex {
  kCompletions = 0,  // by host
  kValidations = 1,  // by host
  kDispatches = 2,   // by host
  kTrickles = 3,     // by host
  // By host: members, merges, openings, facts, corrections of running jobs. By machine: estimated credit.
  kHosts = 4,
  kUsers = 5,      // by user: members, openings, facts, reversals, repricings
  kTeams = 6,      // by team: members, openings, facts
  kCatalogue = 7,  // one partition, to the coordinator: all broadcasts, ticks, barriers
  kControl = 8,    // relayed by the coordinator to every partition, including scale epochs and watermarks
  kClaims = 9,     // by block of workunits
  kGrants = 10,    // by owner (OwnerPartition); the opening of a team by team: the ledger
  kPostings = 11,  // by team: the ledger as posted to teams
  kTotals = 12,    // by account, newest values
  kSamples = 13,   // one partition: to the coordinator
  kRefused = 14,   // one partition
  kJournal = 15,   // one partition per slot, the coordinator's last
  kPassed = 16,    // one partition: watermarks that each partition has passed
  kIdentityFacts = 17,  // federation hub, one partition: from FEEDS and MEMBERS to IDENTITY
  kTopicCount = 18,
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

// Partition of an account's postings: the owner's; for a host without owner, by its own number.
inline std::uint32_t OwnerPartition(ProjectId project, UserId user, HostId host, std::uint32_t partitions) {
  return PartitionOf(project, user ? user.value : ~host.value, partitions);
}

// Topic and partition of an event. Bytes that are not an Envelope go to kCompletions, partition 0, where they
// are refused.
stream::TopicPartition RouteEvent(std::string_view envelope, std::uint32_t partitions);
stream::TopicPartition RouteEvent(const Routing& routing, std::uint32_t partitions);

}  // namespace cobblestone::wire
