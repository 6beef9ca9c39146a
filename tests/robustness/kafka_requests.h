// What tests ask of brokers themselves, past the program's own client: requests of Kafka's protocol, byte by byte. Brokers are
// named by their addresses on 127.0.0.1, with commas between.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cobblestone::testing {

// A transaction of this transactional.id is open: begun, and not decided (DescribeTransactions).
bool HasOpenTransaction(const std::string& bootstrap, const std::string& transactional_id);

// Sets these options of a topic, names and values; they are in force at once (IncrementalAlterConfigs). Throws where the
// brokers do not do it.
void SetTopicOptions(const std::string& bootstrap, const std::string& topic,
                     const std::vector<std::pair<std::string, std::string>>& options);

// The first message of the partition that is there is this one from now on, as when the others were kept for long enough
// (DeleteRecords). Throws where the brokers do not do it.
void TrimPartition(const std::string& bootstrap, const std::string& topic, std::uint32_t partition,
                   std::uint32_t first);

}  // namespace cobblestone::testing
