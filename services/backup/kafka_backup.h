// Makes a backup of a deployment on Kafka: a data directory for one machine, as `migrate` makes it, with the records of
// the topics and the states of all slots as of one moment (FindCut). Workers and sources may run. At that moment no
// transaction may be open.
#pragma once

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/backup/pipeline_backup.h"

namespace cobblestone::backup {

// As BackUpPipeline(). The copy of the topics stays in `to`/kafka-copy, except on a full disk. The next backup reads
// only newer records; with `full` it deletes the copy first. kRetry: the cluster does not answer, or during all of
// `wait` a transaction was open. kInvalidArgument: kafka.slots is by_stage, or the copy is of another deployment.
Result<BackupOutcome> BackUpKafka(const settings::RunSettings& settings, const BackupOptions& options);

}  // namespace cobblestone::backup
