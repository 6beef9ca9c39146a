// Counts the output of slots by project and app: grants and their credit, claims, claims on probation, alarms, refused
// records by reason, and the scales of the newest epoch. Covers the slots of this process since its start.
//
// Cost: about 0.1 microseconds per claim and per grant, a few tenths per refused record, none for other records.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
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
  std::uint64_t claims_on_probation = 0;  // part of `claims`
  std::uint64_t rising = 0;               // of them, alarms: the host's reports keep rising

  AppCounts& operator+=(const AppCounts& more);
};

// The newest scales of a project, and those of the previous epoch if known.
struct ProjectScales {
  credit::ScaleTable now;
  credit::ScaleTable before;  // epoch 0: unknown
};

// Hosts with alarms, and the time of the newest alarm, UNIX s. At most kMaxWatchedHosts, those with the newest alarms.
using WatchedHosts = std::map<std::tuple<ProjectId, AppId, HostId>, double>;
inline constexpr std::size_t kMaxWatchedHosts = 100;
void TakeAlarm(ProjectId project, AppId app, HostId host, double time, WatchedHosts* hosts);

struct LedgerCounts {
  std::map<std::pair<ProjectId, AppId>, AppCounts> apps;
  // Project 0: records whose project cannot be decoded.
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> refused;
  std::map<ProjectId, ProjectScales> scales;
  WatchedHosts watched;
};

// Replaces the newest table by a table of a later epoch; ignores other tables.
void TakeEpoch(credit::ScaleTable table, ProjectScales* scales);

// Counter of one slot, or of the slots of one stream thread.
class LedgerWatch final : public stream::CommitWatch {
 public:
  void Wrote(stream::TopicPartition where, std::string_view payload) override;
  void Settled(bool committed) override;
  // Any thread. Adds scales that are already in force.
  void SeeEpoch(ProjectId project, credit::ScaleTable table);
  // Any thread. Adds the counts so far to *counts.
  void AddTo(LedgerCounts* counts) const;

 private:
  struct Entry {
    AppCounts settled;
    AppCounts open;  // of the current commit
  };
  using Key = std::pair<ProjectId, AppId>;

  AppCounts& OpenOf(const Key& key);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::map<Key, Entry> apps_;
  std::vector<Entry*> open_;  // entries that the current commit has changed
  Key last_;                  // app of the previous record, which is usually the app of the next
  Entry* of_last_ = nullptr;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> refused_;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> open_refused_;
  std::map<ProjectId, ProjectScales> scales_;
  std::vector<std::pair<ProjectId, credit::ScaleTable>> open_epochs_;
  WatchedHosts watched_;
  WatchedHosts open_watched_;
};

}  // namespace cobblestone::metrics
