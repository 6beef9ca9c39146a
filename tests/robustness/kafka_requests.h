// Requests that tests send to brokers directly, without the program's own client, encoded byte by byte.
// Brokers are given by their addresses on 127.0.0.1, separated by commas.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cobblestone::testing {

// Whether a transaction of this transactional.id is open: begun, but not decided (DescribeTransactions).
bool HasOpenTransaction(const std::string& bootstrap, const std::string& transactional_id);

// Sets these options of a topic (names and values), effective at once (IncrementalAlterConfigs). Throws if no
// broker accepts them.
void SetTopicOptions(const std::string& bootstrap, const std::string& topic,
                     const std::vector<std::pair<std::string, std::string>>& options);

// Makes `first` the first available message of the partition, as if retention had deleted those before it
// (DeleteRecords). Throws if no broker does it.
void TrimPartition(const std::string& bootstrap, const std::string& topic, std::uint32_t partition,
                   std::uint32_t first);

}  // namespace cobblestone::testing
