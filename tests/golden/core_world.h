// A project that is executed only by the pure functions of common/credit, without stages, stores and topics. The
// work of all the pipeline's processors happens here in one loop, in the order of a golden file.
//
// Totals are doubles here, as in BOINC's database (golden README, items 21 to 23); the pipeline sums
// micro-credits.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"
#include "common/credit/scales/scales.h"
#include "tests/golden/golden_file.h"

namespace cobblestone::golden {

struct DoubleAccount {
  double total = 0;
  credit::RecentAverage recent;
};

// The outcome of one presented result.
struct Treated {
  int validate_state = 0;  // BOINC's: 0 untouched, 1 valid, 2 invalid, 4 inconclusive
  int outcome = 1;         // 1 success, 3 client error, 6 check failed
  double granted = 0;
  bool outlier = false;                // as stored
  std::optional<credit::Claim> claim;  // the claim, for results with a price by policy boinc
  credit::Mode mode_used = credit::Mode::kNone;
};

struct PassOutcome {
  bool failed = false;  // the credit is not finite: the handler fails, results stay unchanged
  ResultId canonical;
  double canonical_credit = 0;
  std::optional<double> assigned;  // from the set of claims, only by policy boinc
  std::vector<Treated> results;
};

class World {
 public:
  explicit World(const Start& start);

  PassOutcome RunPass(const Event& event);  // wu and late
  void Fail(const Event& event);            // error and timeout
  void Tick(double now);
  void Change(const Event& event);  // config, add_app_version, del_app_version
  void RestartValidators();

  // Item 29: credit that needs no result.
  void GrantTrickle(HostId host, double now, double work_start, double credit);

  [[nodiscard]] const credit::Catalogue& catalogue() const { return catalogue_; }
  [[nodiscard]] const credit::ScaleState& scales() const { return scales_; }
  [[nodiscard]] const credit::ValidatorCopy* CopyOf(std::uint64_t version) const;
  // True if the last flush of the app could not be written (item 27).
  [[nodiscard]] bool FlushFailed(AppId app) const;
  [[nodiscard]] const credit::HostVersion* Row(HostId host, AppId app, AppVersionId version) const;

  std::map<std::uint64_t, credit::HostRecord>
      records;  // by host, including nonexistent hosts that a result names
  std::map<std::uint64_t, DoubleAccount> hosts;
  std::map<std::uint64_t, DoubleAccount> users;
  std::map<std::uint64_t, DoubleAccount> teams;
  std::set<std::uint64_t> hosts_of_failed_passes;  // with a result in a pass whose credit is not finite
  std::map<std::uint64_t, double> speeds;          // of hosts, FLOP/s
  std::map<std::uint64_t, std::uint64_t> user_of_host;
  std::map<std::uint64_t, std::uint64_t> team_of_user;

 private:
  void Grant(HostId host, double now, double work_start, double credit);
  credit::ClaimDecision Decide(const PresentedResult& result, const Event& event);

  credit::Catalogue catalogue_;
  credit::ScaleState scales_;
  std::vector<credit::Sample> samples_;               // since the last tick
  std::map<std::uint64_t, std::uint32_t> passes_;     // by workunit
  std::map<std::uint64_t, double> canonical_credit_;  // by workunit
  double last_tick_ = 0;
};

}  // namespace cobblestone::golden
