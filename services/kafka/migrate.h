// Moves a deployment between the embedded log and Kafka, in either direction: ledger, inputs, state and the position
// of each source. Records stay unchanged and keep their order within a partition. Only offsets change, and the state
// refers to the new offsets. New journals start at the migrated states.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"

namespace cobblestone::kafka {

struct MigrateCounts {
  std::uint64_t records = 0;
  std::uint64_t all = 0;      // total number of records; 0: unknown
  std::uint64_t commits = 0;  // commits that the states have executed, over all slots
  std::uint64_t sources = 0;
};

struct MigrateOptions {
  // From Kafka: restores the state from the last checkpoint. If false, re-executes from the first commit, whose
  // inputs must still exist: slower, and verifies every fingerprint.
  bool checkpoint = true;
  // From Kafka: how long to wait for a moment without an open transaction (FindCut).
  std::chrono::milliseconds patience{60000};
  // From Kafka: called when this moment is found. What is written to the topics later is not migrated.
  std::function<void()> on_cut{};
  std::function<void(const MigrateCounts&)> progress{};                        // may be empty
  std::function<void(const std::string&)> report = [](const std::string&) {};  // messages for the operator
};

// Migrates `from`, a deployment on Kafka as of one moment, to a new embedded deployment with the same number of
// partitions. `directory` must not exist. The workers of `from` may run, and continue the old deployment.
// kRetry: the cluster does not answer, or there was no moment without an open transaction.
Result<MigrateCounts> MigrateToEmbedded(const settings::RunSettings& from, const std::string& directory,
                                        const MigrateOptions& options);

// As MigrateToEmbedded(), into the data directory DataOfCopy(directory), which may hold an older copy: then only what was written
// since is read. Of topics that the brokers trim it has only what the states have yet to read. The states as on Kafka stay in
// the directory too, for the next copy. After an error or a death the next copy continues. kInvalidArgument: the older copy is
// of another deployment. kFenced: another process makes the copy. kCorrupted: the older copy is damaged.
Result<MigrateCounts> UpdateCopy(const settings::RunSettings& from, const std::string& directory,
                                 const MigrateOptions& options);
std::string DataOfCopy(const std::string& directory);

// `from`: an embedded deployment that no process runs. Its backlog is processed first. `to`: a deployment on Kafka
// with the same number of partitions, whose topics exist and are empty, without running workers. Workers find their
// states in the checkpoints. Until the last step no worker can start, and the move can be repeated with empty topics.
// `from` stays unchanged. Append times of copied records are those of the move. kInvalidArgument: the topics are not
// empty. kRetry: workers run, or the cluster does not answer.
Result<MigrateCounts> MigrateToKafka(const settings::RunSettings& from, const settings::RunSettings& to,
                                     const MigrateOptions& options);

}  // namespace cobblestone::kafka
