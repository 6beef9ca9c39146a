#include "services/backup/kafka_backup.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "common/base/failpoint.h"
#include "services/backup/copy_file.h"
#include "services/kafka/migrate.h"

namespace cobblestone::backup {

using kafka::MigrateCounts;
using kafka::MigrateToEmbedded;

namespace {

namespace fs = std::filesystem;

// The directory that the topics are copied into; removed when the backup ends in any way but a death.
class KafkaStaging {
 public:
  explicit KafkaStaging(std::string path) : path_(std::move(path)) { Clear(); }
  ~KafkaStaging() { Clear(); }
  KafkaStaging(const KafkaStaging&) = delete;
  KafkaStaging& operator=(const KafkaStaging&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void Clear() const {
    std::error_code stays;  // and the next backup removes it
    fs::remove_all(path_, stays);
  }

  const std::string path_;
};

}  // namespace

Result<BackupOutcome> BackUpKafka(const settings::RunSettings& settings, const BackupOptions& options) {
  auto set = BackupSet::Open(options.to, options.report);
  if (!set.ok()) return set.status();
  const KafkaStaging staging(options.to + "/kafka-copy");
  const auto copied = MigrateToEmbedded(
      settings, staging.path(),
      {.patience = options.wait,
       .on_cut =
           [&] {
             options.report("the backup is of this moment; sources that were paused for it may continue");
             LowerPriorities();
           },
       .progress =
           [&](const MigrateCounts& now) {
             if (options.reading) options.reading(now.records);
           },
       .report = options.report});
  if (!copied.ok()) return copied.status();
  Failpoint("B1");
  return BackUpDirectory(staging.path(),
                         {.backend = "kafka",
                          .source = settings.kafka.bootstrap + ", prefix " + settings.kafka.prefix,
                          .partitions = settings.partitions},
                         *set, options);
}

}  // namespace cobblestone::backup
