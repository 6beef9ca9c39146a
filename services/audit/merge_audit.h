// Audit of host merges (services/accounts/host_merges.h) and of host accounts that moved to another owner's
// partition.
//
// Each merge in the ledger must be exactly one of done, pending or refused, by the state of the owner's
// partition and by the refused records. The host that the event names must be, or lead through other merges
// to, the host in the state. For a done merge, the ledger must show this host as the same owner's. A pending
// merge must have a reason to wait; in lockstep, the end of the period is enough.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/view/state.h"

namespace cobblestone::audit {

class MergeAudit {
 public:
  using Problem = std::function<void(std::string)>;
  explicit MergeAudit(Problem problem) : problem_(std::move(problem)) {}

  // Reads the state of one partition of ACCOUNTS. Call for all partitions before Take().
  Status Look(std::uint32_t partition, bool lockstep, const view::Rows& rows);
  // Every record of the ledger, in the order of each partition. `behind`: the state has not read the record.
  void Take(const wire::Grant& grant, std::uint32_t partition, bool behind);
  // Call after the whole ledger. `before`: the refused record was in the log before Look().
  void TakeRefused(const wire::Refused& refused, bool before);
  void Check();
  // The records so far, without those behind the state, for an audit that continues.
  [[nodiscard]] std::string Save() const;
  // After Look(), before Take(). Check() then does not require that the ledger shows the host that a host was merged
  // into as the same owner's: the record that shows it may be older. False: the bytes are not those of Save().
  bool Continue(std::string_view saved);

  [[nodiscard]] std::uint64_t merges() const { return merges_.size(); }
  [[nodiscard]] std::uint64_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  using OfHost = std::pair<std::uint32_t, std::uint64_t>;  // project, host
  using Here = std::pair<std::uint32_t, OfHost>;           // partition, host
  enum class Refusal : std::uint8_t { kNone, kLately, kBefore };
  struct Merge {
    std::uint32_t partition = 0;
    std::uint64_t user = 0;
    std::uint64_t into = 0;
    Refusal refused = Refusal::kNone;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.partition, s.user, s.into, s.refused);
    }
  };
  struct Waiting {
    std::uint64_t user = 0;
    std::uint64_t into = 0;
    std::uint64_t heir = 0;  // the host that the merge waits for
    bool ready = false;      // the merge has nothing left to wait for
  };
  struct Place {
    std::uint64_t due = 0;
    bool elsewhere = false;
    UserId user;  // by the host's account; 0: elsewhere
    std::vector<UserId> leaving;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.due, s.elsewhere, s.user, s.leaving);
    }
  };
  struct SavedMerge {
    std::uint32_t project = 0;
    std::uint64_t host = 0;
    Merge merge;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.project, s.host, s.merge);
    }
  };
  struct SavedPlace {
    std::uint32_t partition = 0;
    std::uint32_t project = 0;
    std::uint64_t host = 0;
    Place place;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.partition, s.project, s.host, s.place);
    }
  };
  struct Saved {
    std::vector<SavedMerge> merges;
    std::vector<SavedPlace> places;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.merges, s.places);
    }
  };

  void Move(const wire::GrantHead& head, Place& place) const;
  void CheckMerge(const OfHost& host, const Merge& merge);
  void CheckPlaces();
  // Whether a chain of recorded or done merges leads from `into` to `to` without passing `host`.
  [[nodiscard]] bool Leads(const OfHost& host, std::uint64_t into, std::uint64_t to) const;

  Problem problem_;
  bool continues_ = false;
  // From the state.
  std::map<Here, std::uint64_t> done_;  // the host that each host was merged into
  std::map<Here, Waiting> waiting_;
  std::map<Here, Place> places_;  // of hosts that have moved; hosts in `ended_` are not checked
  std::set<Here> ended_;          // moved hosts with a done merge
  std::map<OfHost, std::vector<std::uint64_t>> became_;
  std::map<Here, std::set<std::uint64_t>> heirs_;  // hosts merged into, and the owners that the ledger shows
  // From the ledger.
  std::map<OfHost, Merge> merges_;
  std::map<OfHost, std::uint64_t> later_;  // HOST_MERGED records that the state has not read
  std::map<Here, Place> moved_;
  std::uint64_t refused_ = 0;
};

}  // namespace cobblestone::audit
