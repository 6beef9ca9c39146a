#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "common/stream/embedded/indexed_log.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/corrections/corrections_asked.h"
#include "services/embedded/engine.h"
#include "services/embedded/engine_state.h"
#include "services/ledger/ledger_index.h"
#include "services/ledger/ledger_sums.h"
#include "services/view/json.h"

namespace cobblestone::embedded {

using corrections::CorrectionPlanJson;
using corrections::CorrectionRequest;
using corrections::PlanCorrections;
using ledger::KeepLedgerSums;
using ledger::LedgerPlaces;
using nlohmann::json;
using pipeline::SlotCount;

view::QuestionsOptions Engine::AskedHow() const {
  view::QuestionsOptions options{.clock = options_.clock, .names = {}, .hub = pipeline_.hub};
  for (const settings::ProjectEntry& known : settings_.projects) options.names[known.id.value] = known.name;
  return options;
}

Result<view::Questions*> Engine::QuestionsForMany() {
  const std::lock_guard lock(many_mutex_);
  if (for_many_ == nullptr) {
    if (Status s = index_->IndexForPeople(); !s.ok()) return s;
    for_many_ =
        std::make_unique<view::Questions>(started_ ? *stored_state_ : *live_state_, *ledger_, AskedHow());
  }
  return for_many_.get();
}

view::Questions* Engine::questions_for_many() {
  // The first QuestionsForMany() may hold the mutex for long.
  const std::unique_lock lock(many_mutex_, std::try_to_lock);
  return lock.owns_lock() ? for_many_.get() : nullptr;
}

Result<json> Engine::CopyState() {
  const std::string directory = settings_.data_directory + "/export-state";
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (!error) std::filesystem::create_directories(directory, error);
  if (error) return Status::Unwritten(error.value(), "cannot create " + directory + ": " + error.message());
  for (std::uint32_t k = 0; k < SlotCount(pipeline_); ++k)
    if (Status s = runner_->CopyStored(k, CopyOf(directory, k)); !s.ok()) return s;
  return json{{"directory", std::filesystem::absolute(directory, error).string()},
              {"partitions", pipeline_.partitions}};
}

std::string BackupLockOf(const std::string& data_directory) { return data_directory + "/backup.lock"; }
std::string BackupCopyOf(const std::string& data_directory) { return data_directory + "/backup-copy"; }

std::string RestoreFolderOf(const std::string& data_directory) { return data_directory + "/restoring"; }

Result<json> Engine::CopyForBackup() {
  const std::string directory = BackupCopyOf(settings_.data_directory);
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (!error) std::filesystem::create_directory(directory, error);
  if (error) return Status::Unwritten(error.value(), "cannot make " + directory + ": " + error.message());
  if (Status s = runner_->CopyAll(directory); !s.ok()) {
    std::filesystem::remove_all(directory, error);  // it takes room
    return s;
  }
  return json{{"directory", std::filesystem::absolute(directory, error).string()}};
}

Result<json> Engine::SumLedger(const LedgerPlaces& to, bool from_start,
                               const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  if (to.grants.size() != pipeline_.partitions || to.postings.size() != pipeline_.partitions)
    return Status::InvalidArgument("the ledger has " + std::to_string(pipeline_.partitions) +
                                   " partitions, and each partition needs a position");
  const std::string file = settings_.data_directory + "/ledger-sums";
  const auto log_of = [this](stream::TopicIndex) { return stream::embedded::MakeIndexedLog(*log_); };
  if (Status s = KeepLedgerSums(file, log_of, to, from_start, progress); !s.ok()) return s;
  std::error_code error;
  return json{{"file", std::filesystem::absolute(file, error).string()}};
}

// Grants that ACCOUNTS has applied have their postings in the log.
Result<json> Engine::Corrections(const CorrectionRequest& request,
                                 const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  if (lockstep() && started_)
    if (Status s = EndPeriod(); !s.ok()) return s;
  std::vector<std::uint64_t> grants(pipeline_.partitions);
  for (std::uint32_t k = 0; k < pipeline_.partitions; ++k)
    runner_->Query(k, [&](stream::Slot& slot) {
      for (std::size_t i = 0; i < slot.inputs().size(); ++i)
        if (slot.inputs()[i].where.topic == wire::kGrants) grants[k] = slot.next(i);
    });
  for (std::uint32_t p = 0; p < pipeline_.partitions; ++p)
    for (const stream::TopicIndex topic : {wire::kGrants, wire::kPostings}) {
      const std::uint64_t end = log_->End({topic, p});
      while (log_->DurableEnd({topic, p}) < end && failure().ok())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  if (Status s = failure(); !s.ok()) return s;
  const auto plan = PlanCorrections(
      request, [this](stream::TopicIndex) { return stream::embedded::MakeIndexedLog(*log_); }, grants,
      progress);
  if (!plan.ok()) return plan.status();
  return CorrectionPlanJson(*plan);
}

// Does not wait for a slot. Watermarks are records but not events; a watermark that a slot has counted may not be
// durable yet.
EngineCounts Engine::Counts() {
  const auto less = [](std::uint64_t all, std::uint64_t watermarks) {
    return all - std::min(all, watermarks);
  };
  const std::uint32_t n = pipeline_.partitions;
  std::uint64_t made = 0;
  std::uint64_t passed = 0;
  for (const auto& slot : runner_->Look()) (slot.slot == n ? made : passed) += slot.counted;
  std::uint64_t completions = 0;
  std::uint64_t grants = 0;
  for (std::uint32_t p = 0; p < n; ++p) {
    completions += log_->DurableEnd({wire::kCompletions, p});
    grants += log_->DurableEnd({wire::kGrants, p});
  }
  return {.completions = less(completions, n * made), .grants = less(grants, n * passed)};
}

json Engine::Tasks() {
  json tasks = json::array();
  std::uint64_t lag = 0;
  for (const auto& slot : runner_->status()) {
    char hash[40];
    std::snprintf(hash, sizeof hash, "%016llx%016llx", static_cast<unsigned long long>(slot.hash.high),
                  static_cast<unsigned long long>(slot.hash.low));
    lag += slot.lag;
    tasks.push_back({{"slot", slot.slot},
                     {"role", pipeline::StagesOf(slot.slot, pipeline_)},
                     {"commits", slot.sequence},
                     {"hash", hash},
                     {"lag", slot.lag},
                     {"state_written", slot.flushed_sequence},
                     {"checkpoint", slot.checkpoint_sequence},
                     {"commits_executed_again", slot.reexecuted},
                     {"records", slot.records},
                     {"objects_in_memory", slot.cached_objects},
                     {"store_reads", slot.store_reads}});
  }
  const auto counters = log_->counters();
  return {{"tasks", tasks},
          {"lag", lag},
          {"grants", Counts().grants},
          {"refused", log_->DurableEnd({wire::kRefused, 0})},
          {"log",
           {{"units", counters.units},
            {"syncs", counters.syncs},
            {"records", counters.records},
            {"raw_bytes", counters.raw_bytes},
            {"stored_bytes", counters.stored_bytes},
            {"sync_seconds", static_cast<double>(counters.sync_nanos) / 1e9},
            {"disk_bytes", log_->disk_bytes()}}}};
}

}  // namespace cobblestone::embedded
