// Makes a backup of a deployment on Kafka: a data directory for one machine in the same set, as `migrate` makes it, with what
// the topics hold and the states of all slots.
//
// Workers may run; sources must be silent while the topics are copied. The copy counts only if no transaction was open and no
// partition had changed between its begin and its end, so it is of one moment: ends of partitions only grow, and those that
// are equal before and after were so in between.
#pragma once

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/backup/pipeline_backup.h"

namespace cobblestone::backup {

// As BackUpPipeline(). Every file is copied, because the directory is written from the start. kRetry: the cluster does not answer, or
// something was written to the topics each time they were copied. kInvalidArgument: kafka.slots are by_stage. `progress` counts
// records, then bytes.
Result<BackupOutcome> BackUpKafka(const settings::RunSettings& settings, const BackupOptions& options);

}  // namespace cobblestone::backup
