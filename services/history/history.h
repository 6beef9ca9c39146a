// How the hosts of one app worked, collected from records in any order. Values, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::history {

// A result that the validator judged valid.
struct ValidResult {
  WorkunitId workunit;
  HostId host;
  UserId user;
  AppVersionId version;
  double elapsed_time = 0;  // s
  double cpu_time = 0;      // s
  double peak_flops = 0;    // FLOP/s of all its devices
  double fpops_est = 0;
  double fpops_bound = 0;
  double delay_bound = 0;  // s; 0: that of the app
  double turnaround = 0;   // s from the dispatch to the report; 0: unknown
  // Results of the workunit that counted; 0: unknown, for example a late result.
  std::uint32_t replicas = 0;
};

// What is kept of a ValidResult.
struct ResultRow {
  std::uint64_t workunit = 0;
  std::uint64_t host = 0;
  std::int64_t version = 0;
  std::uint32_t replicas = 0;
  double log_ratio = 0;  // ln(PFC/E)
  float fpops_est = 0;
  float bound_factor = 0;    // bound/E
  float delay_bound = 0;     // s
  float turnaround = 0;      // s
  float elapsed = 0;         // s
  float cpu_efficiency = 0;  // CPU time / elapsed time
  float peak_flops = 0;
};

struct HostJobs {
  std::uint64_t valid = 0;
  std::uint64_t ended = 0;   // of any outcome
  std::uint64_t failed = 0;  // errors and time-outs
  std::uint64_t timed_out = 0;
  std::uint64_t aborted = 0;
};

class History {
 public:
  // `app` 0: the app of the first result; a project with several apps then gives an error of FitOf().
  explicit History(AppId app) : app_(app), any_app_(!app) {}

  void TakeApp(const credit::AppRow& app);
  void TakeVersion(const credit::AppVersionRow& version);
  void TakeHost(HostId host, double whetstone) { whetstones_[host.value] = whetstone; }
  void TakeResult(AppId app, credit::PolicyKind policy, const ValidResult& result);
  void TakeEnd(AppId app, HostId host, const credit::CompletionFacts& facts);
  // A judgement about a result of a workunit with several results.
  void TakeJudgement(AppId app, bool valid);

  // Whether records of this app are wanted.
  [[nodiscard]] bool Wants(AppId app) const { return any_app_ ? !app_ || app == app_ : app == app_; }

  [[nodiscard]] AppId app() const { return app_; }
  [[nodiscard]] bool any_app() const { return any_app_; }
  // Valid results by app, of all apps.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& results() const { return results_; }
  [[nodiscard]] std::string NameOf(std::uint64_t app) const;
  [[nodiscard]] bool IsGpu(AppVersionId version) const;
  [[nodiscard]] double delay_bound() const;  // of the app, s; 0: unknown
  // The policies that priced the results, and the app's present policy.
  [[nodiscard]] std::set<credit::PolicyKind> policies() const;
  // A part of all results: those of whole workunits, chosen by number, kMostRows at most.
  [[nodiscard]] const std::vector<ResultRow>& rows() const { return rows_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, HostJobs>& hosts() const { return hosts_; }
  [[nodiscard]] std::size_t users() const { return users_.size(); }
  // 0: unknown.
  [[nodiscard]] double WhetstoneOf(std::uint64_t host) const;
  [[nodiscard]] std::uint64_t ended() const { return ended_; }
  [[nodiscard]] std::uint64_t judged() const { return judged_; }
  [[nodiscard]] std::uint64_t invalid() const { return invalid_; }
  // Valid results whose run time, speed or size is missing or impossible.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  static constexpr std::size_t kMostRows = 1'000'000;

 private:
  void Keep(const ResultRow& row);

  AppId app_;
  bool any_app_;
  std::map<std::uint64_t, credit::AppRow> apps_;
  std::unordered_map<std::uint64_t, bool> gpu_versions_;
  std::map<std::uint64_t, std::uint64_t> results_;
  std::set<credit::PolicyKind> policies_;
  std::vector<ResultRow> rows_;
  std::uint64_t every_ = 1;  // of so many workunits one is kept
  std::unordered_map<std::uint64_t, HostJobs> hosts_;
  std::set<std::uint64_t> users_;
  std::unordered_map<std::uint64_t, double> whetstones_;
  std::uint64_t ended_ = 0;
  std::uint64_t judged_ = 0;
  std::uint64_t invalid_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace cobblestone::history
