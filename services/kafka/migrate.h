// A deployment that outgrows one machine, or goes back to one: everything that is kept moves from the embedded log to
// Kafka and back: ledger, inputs, state, and how far each source was taken in. Every record stays what it is, and in its
// place among those of its partition; only offsets are counted anew, and the state names the new ones. The journals begin
// anew behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"

namespace cobblestone {

struct MigrateCounts {
  std::uint64_t records = 0;
  std::uint64_t all = 0;      // records that there are; 0: not known
  std::uint64_t commits = 0;  // that the states have executed, all slots together
  std::uint64_t sources = 0;
};

struct MigrateOptions {
  // From Kafka: state is made from the last checkpoint on; else from the first commit on, whose inputs must be there:
  // slower, and a proof of every fingerprint.
  bool checkpoint = true;
  std::function<void(const MigrateCounts&)> progress;                          // may be empty
  std::function<void(const std::string&)> report = [](const std::string&) {};  // for people
};

// `from`: a deployment on Kafka on which no worker runs. `directory`: does not exist yet, and is an embedded deployment
// with as many partitions afterwards.
Result<MigrateCounts> MigrateToEmbedded(const settings::RunSettings& from, const std::string& directory,
                                        const MigrateOptions& options);

// `from`: an embedded deployment that nobody runs. What it has not processed yet is processed first. `to`: a deployment on
// Kafka with as many partitions, whose topics are there and empty, and on which no worker runs. Workers find their states in
// the checkpoints. Until the very end no worker takes up anything, and the move can be begun anew on empty topics; what is in
// `from` stays as it is. Append times of what is copied are those of the move.
// kInvalidArgument: the topics are not empty. kRetry: workers run; the cluster does not answer.
Result<MigrateCounts> MigrateToKafka(const settings::RunSettings& from, const settings::RunSettings& to,
                                     const MigrateOptions& options);

}  // namespace cobblestone
