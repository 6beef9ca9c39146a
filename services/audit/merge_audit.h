// The part of the audit that is about hosts that become another one (services/accounts/host_merges.h): by the ledger and by what
// was refused, which merges have come about, wait, or never will; in the state of the owner's partition each is one of the
// three, and leads where its event says. And where the accounts of hosts are that have changed their owner.
//
// A merge that has come about was of one owner: the ledger has shown the other host, or what that has become, as the owner's. One
// that waits has something to wait for. (In lockstep it may wait for its period's end alone.)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone {

class MergeAudit {
 public:
  using Problem = std::function<void(std::string)>;
  explicit MergeAudit(Problem problem) : problem_(std::move(problem)) {}

  // State of one partition. Before anything of the ledger is read.
  Status Look(std::uint32_t partition, bool lockstep, accounts::AccountsStage& stage);
  // What other partitions have read of the ledger behind their snapshots is of use.
  [[nodiscard]] bool any() const { return any_; }
  // Every record of the ledger, partition by partition in order. `behind`: the state has not read it.
  void Take(const wire::Grant& grant, std::uint32_t partition, bool behind);
  // Behind the ledger. `before`: it was there before the state was looked at.
  void TakeRefused(const wire::Refused& refused, bool before);
  void Check();

  [[nodiscard]] std::uint64_t merges() const { return merges_.size(); }
  [[nodiscard]] std::uint64_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  using OfHost = std::pair<std::uint32_t, std::uint64_t>;  // project, host
  using Here = std::pair<std::uint32_t, OfHost>;           // in this partition
  enum class Refusal : std::uint8_t { kNone, kLately, kBefore };
  struct Merge {
    std::uint32_t partition = 0;
    std::uint64_t user = 0;
    std::uint64_t into = 0;
    Refusal refused = Refusal::kNone;
  };
  struct Waiting {
    std::uint64_t user = 0;
    std::uint64_t into = 0;
    std::uint64_t heir = 0;  // for which it waits
    bool ready = false;
  };
  struct Place {
    std::uint64_t due = 0;
    bool elsewhere = false;
    UserId user;  // by its account, where it has come
    std::vector<UserId> leaving;
  };

  void Move(const wire::GrantHead& head, Place& place) const;
  void CheckMerge(const OfHost& host, const Merge& merge);
  void CheckPlaces();
  // From the one that the host is to become, by the events or by what has come about, one after the other.
  [[nodiscard]] bool Leads(const OfHost& host, std::uint64_t into, std::uint64_t to) const;

  Problem problem_;
  bool any_ = false;
  // Of the state.
  std::map<Here, std::uint64_t> done_;  // what the host has become
  std::map<Here, Waiting> waiting_;
  std::map<Here, Place> places_;  // of hosts that have moved, and none that has become another
  std::set<Here> ended_;          // those that have
  std::map<OfHost, std::vector<std::uint64_t>> became_;
  std::map<Here, std::set<std::uint64_t>> heirs_;  // and as whose the ledger has shown them
  // Of the ledger.
  std::map<OfHost, Merge> merges_;
  std::map<OfHost, std::uint64_t> later_;  // of records behind
  std::map<Here, Place> moved_;
  std::uint64_t refused_ = 0;
};

}  // namespace cobblestone
