// Makes a backup of a deployment on Kafka: a data directory for one machine in the same set, as `migrate` makes it,
// with what the topics hold and the states of all slots, as of one moment (FindCut). Workers and sources may run.
// Only for the moment itself no transaction may be open.
#pragma once

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/backup/pipeline_backup.h"

namespace cobblestone::backup {

// As BackUpPipeline(). The copy of the topics stays in `to`/kafka-copy, and the next backup reads only what was written
// since; with `full` it starts over. kRetry: the cluster does not answer, or for `wait` there was always an open
// transaction. kInvalidArgument: kafka.slots are by_stage, or the copy there is of another deployment.
Result<BackupOutcome> BackUpKafka(const settings::RunSettings& settings, const BackupOptions& options);

}  // namespace cobblestone::backup
