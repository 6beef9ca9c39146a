// The part of the audit that is about estimates: each record of the ledger in itself, what it has made of its host and owner,
// and what a machine can have done, over all its projects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/credit/estimate_account.h"
#include "common/wire/grant_codec.h"
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
  struct Machine {
    double since = 0;
    double newest = 0;
    double flops = 0;
    credit::MicroTotal allowed = 0;
    std::uint64_t records = 0;
  };

  void AddRecord(const wire::Grant& grant, std::map<OfOwner, credit::EstimateSums>& to) const;

  Problem problem_;
  bool any_ = false;
  std::map<OfOwner, std::uint64_t> became_;  // hosts that have become others under this owner, and which
  std::uint64_t records_ = 0;
  std::map<OfOwner, credit::EstimateSums> state_;
  std::map<OfOwner, credit::EstimateSums> waiting_;  // among them, to be applied
  std::map<OfOwner, credit::EstimateSums> ledger_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, credit::MicroTotal> open_;  // of a user's hosts
  std::map<std::pair<std::uint32_t, std::uint64_t>, credit::UserEstimates> users_;
  std::map<std::uint32_t, credit::EstimateSums> projects_;
  std::map<std::uint64_t, Machine> machines_;
};

}  // namespace cobblestone
