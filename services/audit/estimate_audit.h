// Audit of estimates. Checks each ledger record by itself; the sums of each host and owner, user and project
// against the records, in total and by day; and the estimates of each machine, over all projects, against the
// machine's speed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/credit/estimates/estimate_account.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/view/state.h"

namespace cobblestone::audit {

class EstimateAudit {
 public:
  using Problem = std::function<void(std::string)>;
  explicit EstimateAudit(Problem problem) : problem_(std::move(problem)) {}

  // Reads the state of one partition of ACCOUNTS. Call for all partitions before Take().
  Status Look(const view::Rows& rows);
  // A record of the kind ESTIMATE. `behind`: the state has not read the record; only the time span and the
  // speed of the machine are used.
  void Take(const wire::Grant& grant, const std::string& where, bool behind);
  void Check();
  // The records so far, without those behind the state, for an audit that continues.
  [[nodiscard]] std::string Save() const;
  // After Look(), before Take(). False: the bytes are not those of Save().
  bool Continue(std::string_view saved);
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  using OfOwner = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // project, user, host
  using OfUser = std::pair<std::uint32_t, std::uint64_t>;                   // project, user
  struct Machine {
    double since = 0;
    double newest = 0;
    double flops = 0;
    credit::MicroTotal allowed = 0;
    std::uint64_t records = 0;
    std::uint64_t behind = 0;  // of them

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.since, s.newest, s.flops, s.allowed, s.records);
    }
  };
  struct SavedOwner {
    std::uint32_t project = 0;
    std::uint64_t user = 0;
    std::uint64_t host = 0;
    credit::EstimateSums sums;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.project, s.user, s.host, s.sums);
    }
  };
  struct Saved {
    std::vector<SavedOwner> owners;
    std::map<std::uint64_t, Machine> machines;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.owners, s.machines);
    }
  };

  static void AddRecord(const wire::Grant& grant, credit::EstimateSums& sums);
  // The owner's host as it is now: a merged host's estimates are those of the host that it became.
  [[nodiscard]] OfOwner NowOf(OfOwner owner) const;
  [[nodiscard]] OfOwner OwnerOf(const wire::GrantHead& head) const {
    return NowOf({head.project.value, head.user.value, head.host.value});
  }
  void Compare(const std::string& whose, const credit::EstimateSums& state,
               const credit::EstimateSums& records);

  Problem problem_;
  std::map<OfOwner, std::uint64_t> became_;  // the host that each merged host became
  std::uint64_t records_ = 0;
  // state_, users_ and projects_ include ledger records that wait for a barrier (lockstep). open_ and
  // open_of_hosts_ do not.
  std::map<OfOwner, credit::EstimateSums> state_;
  std::map<OfUser, credit::EstimateSums> users_;
  std::map<std::uint32_t, credit::EstimateSums> projects_;
  std::map<OfOwner, credit::EstimateSums> ledger_;
  std::map<OfUser, credit::MicroTotal> open_;           // by the user's row
  std::map<OfUser, credit::MicroTotal> open_of_hosts_;  // sum over the user's hosts
  std::map<std::uint64_t, Machine> machines_;
};

}  // namespace cobblestone::audit
