#include "services/backup/kafka_backup.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "common/base/failpoint.h"
#include "services/backup/copy_file.h"
#include "services/kafka/migrate.h"

namespace cobblestone::backup {

using kafka::DataOfCopy;
using kafka::MigrateCounts;
using kafka::UpdateCopy;

namespace {

namespace fs = std::filesystem;

// The copy of the topics, which the next backup continues. Removed if no copy was begun, and on a full disk, to which it
// contributes most.
class KafkaCopy {
 public:
  KafkaCopy(std::string path, bool start_over) : path_(std::move(path)) {
    if (start_over) Remove();
    keep_ = fs::exists(path_);
  }
  ~KafkaCopy() {
    if (!keep_) Remove();
  }
  KafkaCopy(const KafkaCopy&) = delete;
  KafkaCopy& operator=(const KafkaCopy&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void Keep(bool keep) { keep_ = keep; }

 private:
  void Remove() const {
    std::error_code stays;  // and the next backup removes it
    fs::remove_all(path_, stays);
  }

  const std::string path_;
  bool keep_;
};

}  // namespace

Result<BackupOutcome> BackUpKafka(const settings::RunSettings& settings, const BackupOptions& options) {
  auto set = BackupSet::Open(options.to, options.report);
  if (!set.ok()) return set.status();
  KafkaCopy copy(options.to + "/kafka-copy", options.full);
  const auto copied = UpdateCopy(
      settings, copy.path(),
      {.patience = options.wait,
       .on_cut =
           [&] {
             copy.Keep(true);
             options.report("the backup is of this moment; sources that were paused for it may continue");
             LowerPriorities();
           },
       .progress =
           [&](const MigrateCounts& now) {
             if (options.reading) options.reading(now.records);
           },
       .report = options.report});
  if (copied.status().code() == StatusCode::kFull) copy.Keep(false);
  if (!copied.ok()) return copied.status();
  Failpoint("B1");
  auto made = BackUpDirectory(DataOfCopy(copy.path()),
                              {.backend = "kafka",
                               .source = settings.kafka.bootstrap + ", prefix " + settings.kafka.prefix,
                               .partitions = settings.partitions},
                              *set, options);
  if (made.status().code() == StatusCode::kFull) copy.Keep(false);
  return made;
}

}  // namespace cobblestone::backup
