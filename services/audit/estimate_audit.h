// The part of the audit that is about estimates: each record of the ledger in itself, what it has made of its host and owner, of
// its user and of its project, in all and day by day, and what a machine can have done, over all its projects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/credit/estimates/estimate_account.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone {

class EstimateAudit {
 public:
  using Problem = std::function<void(std::string)>;
  explicit EstimateAudit(Problem problem) : problem_(std::move(problem)) {}

  // State of one partition. Before anything of the ledger is read.
  Status Look(accounts::AccountsStage& stage);
  [[nodiscard]] bool any() const { return any_; }
  // A record of the kind ESTIMATE. `behind`: the state has not read it; it tells of its machine's time all the same.
  void Take(const wire::Grant& grant, const std::string& where, bool behind);
  void Check();
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
  };

  static void AddRecord(const wire::Grant& grant, credit::EstimateSums& sums);
  [[nodiscard]] OfOwner OwnerOf(const wire::GrantHead& head) const;
  void Compare(const std::string& whose, const credit::EstimateSums& state,
               const credit::EstimateSums& records);

  Problem problem_;
  bool any_ = false;
  std::map<OfOwner, std::uint64_t> became_;  // hosts that have become others under this owner, and which
  std::uint64_t records_ = 0;
  // What is in the ledger and waits to be applied is in these, but for what is open.
  std::map<OfOwner, credit::EstimateSums> state_;
  std::map<OfUser, credit::EstimateSums> users_;
  std::map<std::uint32_t, credit::EstimateSums> projects_;
  std::map<OfOwner, credit::EstimateSums> ledger_;
  std::map<OfUser, credit::MicroTotal> open_;  // of a user
  std::map<OfUser, credit::MicroTotal> open_of_hosts_;
  std::map<std::uint64_t, Machine> machines_;
};

}  // namespace cobblestone
