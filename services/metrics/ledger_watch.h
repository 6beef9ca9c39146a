// Counts what slots write, by project and app: grants and their credit, claims and those on probation, refusals by reason,
// and the scales of the newest epoch. Since the process began, of the slots that it runs.
//
// Costs about a tenth of a microsecond for each claim and each grant, some for a refusal, and nothing for other records.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/catalogue.h"
#include "common/stream/commit_watch.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::metrics {

struct AppCounts {
  std::uint64_t grants = 0;
  credit::MicroTotal credit_micro = 0;
  std::uint64_t claims = 0;               // of valid results
  std::uint64_t claims_on_probation = 0;  // of these

  AppCounts& operator+=(const AppCounts& more);
};

// The newest scales of a project, and those of the epoch before, where it is known.
struct ProjectScales {
  credit::ScaleTable now;
  credit::ScaleTable before;  // epoch 0: not known
};

struct LedgerCounts {
  std::map<std::pair<ProjectId, AppId>, AppCounts> apps;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t>
      refused;  // project 0: the bytes do not tell
  std::map<ProjectId, ProjectScales> scales;
};

// A table of a later epoch takes the place of the newest one; others change nothing.
void TakeEpoch(credit::ScaleTable table, ProjectScales* scales);

// Of one slot, or of the slots of one stream thread.
class LedgerWatch final : public stream::CommitWatch {
 public:
  void Wrote(stream::TopicPartition where, std::string_view payload) override;
  void Settled(bool committed) override;
  // Any thread. Scales that are in force already.
  void SeeEpoch(ProjectId project, credit::ScaleTable table);
  // Any thread. What it has counted so far, on top of what is there.
  void AddTo(LedgerCounts* counts) const;

 private:
  struct Entry {
    AppCounts settled;
    AppCounts open;  // of the commit under way
  };
  using Key = std::pair<ProjectId, AppId>;

  AppCounts& OpenOf(const Key& key);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::map<Key, Entry> apps_;
  std::vector<Entry*> open_;  // entries that the commit under way has touched
  Key last_;                  // most records are of the app of the one before
  Entry* of_last_ = nullptr;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> refused_;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> open_refused_;
  std::map<ProjectId, ProjectScales> scales_;
  std::vector<std::pair<ProjectId, credit::ScaleTable>> open_epochs_;
};

}  // namespace cobblestone::metrics
