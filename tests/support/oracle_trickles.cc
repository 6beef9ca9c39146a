#include "tests/support/oracle_trickles.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/support/oracle_rules.h"

namespace cobblestone::testing {
namespace {

constexpr double kDay = 86400;

std::optional<double> NumberFor(const v1::TrickleRule& rule, const v1::Trickle& message) {
  const std::map<std::string, std::optional<double>> numbers = {
      {"elapsed_time", message.has_elapsed_time() ? std::optional(message.elapsed_time()) : std::nullopt},
      {"cpu_time", message.has_cpu_time() ? std::optional(message.cpu_time()) : std::nullopt},
      {"fraction_done", message.has_fraction_done() ? std::optional(message.fraction_done()) : std::nullopt},
      {"steps", message.has_steps() ? std::optional(message.steps()) : std::nullopt},
      {"runtime_increment",
       message.has_runtime_increment() ? std::optional(message.runtime_increment()) : std::nullopt}};
  return numbers.at(rule.measure());
}

}  // namespace

const char* BadTrickle(const v1::Trickle& t) {
  if (t.host() == 0 || (t.result() == 0 && t.result_name().empty())) return "MISSING_FIELD";
  const std::tuple<bool, double, double> numbers[] = {
      {t.has_elapsed_time(), t.elapsed_time(), HUGE_VAL},
      {t.has_cpu_time(), t.cpu_time(), HUGE_VAL},
      {t.has_fraction_done(), t.fraction_done(), 1},
      {t.has_steps(), t.steps(), HUGE_VAL},
      {t.has_runtime_increment(), t.runtime_increment(), HUGE_VAL}};
  for (const auto& [present, number, most] : numbers) {
    if (present && !std::isfinite(number)) return "NOT_FINITE";
    if (present && number < 0) return "NEGATIVE";
    if (present && number > most) return "OUT_OF_RANGE";
  }
  return nullptr;
}

OracleJob::OracleJob(Terms terms) : terms_(std::move(terms)) {
  const v1::Dispatch& dispatch = terms_.dispatch.dispatch();
  sent_ = dispatch.sent_time() > 0 ? dispatch.sent_time() : terms_.dispatch.time();
  double cpus = 0;
  for (const v1::DeviceUsage& usage : dispatch.usage())
    if (usage.resource() == v1::RESOURCE_CPU) cpus += usage.count();
  cpus_ = std::max(cpus, 1.0);
}

double OracleJob::CreditOf(double flops) const {
  return flops * terms_.cobblestones_per_gflops_day / (kDay * 1e9);
}

double OracleJob::Within(const v1::TrickleRule& rule, double mark, double wall) const {
  const v1::Dispatch& dispatch = terms_.dispatch.dispatch();
  if (rule.kind() == "elapsed" || rule.kind() == "runtime")
    return std::min(mark, rule.measure() == "cpu_time" ? wall * cpus_ : wall);
  if (rule.kind() == "steps") {
    const double last = rule.phases().rbegin()->last_step();
    double least = rule.min_step_seconds();
    if (least == 0 && dispatch.peak_flops() > 0)
      least = dispatch.fpops_est() / dispatch.peak_flops() / 10 / last;
    return std::min({std::floor(mark), last, least > 0 ? std::floor(wall / least) : HUGE_VAL});
  }
  if (rule.kind() == "fraction") {
    const bool both = dispatch.peak_flops() > 0 && dispatch.fpops_est() > 0;
    return std::min({mark, 1.0, both ? wall * dispatch.peak_flops() / dispatch.fpops_est() : HUGE_VAL});
  }
  return mark;
}

double OracleJob::Worth(const v1::TrickleRule& rule, double mark) const {
  const v1::Dispatch& dispatch = terms_.dispatch.dispatch();
  double credit = 0;
  double most = HUGE_VAL;
  if (dispatch.fpops_bound() > 0) most = CreditOf(dispatch.fpops_bound());
  if (rule.kind() == "elapsed") {
    credit = CreditOf((rule.measure() == "cpu_time" ? mark / cpus_ : mark) * dispatch.peak_flops());
    // The self-reported speed of an anonymous platform earns no more than the job's estimate.
    if (terms_.anonymous && dispatch.fpops_est() > 0) most = std::min(most, CreditOf(dispatch.fpops_est()));
  } else if (rule.kind() == "runtime") {
    const double speed = terms_.host_speed < 0 ? rule.median_speed() : terms_.host_speed;
    credit = CreditOf(mark * std::min(speed, rule.speed_limit()));
  } else if (rule.kind() == "fraction") {
    credit = mark * CreditOf(dispatch.fpops_est());
  } else if (rule.kind() == "day") {
    credit = mark * rule.credit_per_day();
  } else {
    double begin = 0;
    for (const v1::TricklePhase& phase : rule.phases()) {
      credit += std::max(std::min(mark, phase.last_step()) - begin, 0.0) * phase.credit_per_step();
      begin = phase.last_step();
    }
    credit *=
        (rule.has_model_factor() ? rule.model_factor() : 1) * (rule.has_multiplier() ? rule.multiplier() : 1);
  }
  if (rule.max_credit() > 0) most = std::min(most, rule.max_credit());
  if (terms_.project_cap > 0) most = std::min(most, terms_.project_cap);
  return std::min(credit, most);
}

const char* OracleJob::Apply(const v1::Trickle& message, double time, std::int64_t* micro) {
  *micro = 0;
  const auto rule = std::find_if(terms_.rules.begin(), terms_.rules.end(),
                                 [&](const v1::TrickleRule& r) { return r.variety() == message.variety(); });
  if (rule == terms_.rules.end()) return "NOT_SUPPORTED";
  Received& received = received_[message.variety()];
  double mark = 0;
  double until = time;
  if (rule->kind() == "day") {
    mark = std::floor(std::max(time - sent_, 0.0) / kDay);
  } else {
    const std::optional<double> number = NumberFor(*rule, message);
    if (!number) return "MISSING_FIELD";
    mark = *number;
    if (rule->incremental()) {
      if (message.sequence() == 0) return "MISSING_FIELD";
      if (rule->max_increment() > 0) mark = std::min(mark, rule->max_increment());
      if (!received.increments.emplace(message.sequence(), mark).second) return nullptr;  // a repeat
      received.latest = until = std::max(time, received.latest);
      mark = 0;
      for (const auto& [sequence, seconds] : received.increments) mark += std::nearbyint(seconds * 1e9);
      mark /= 1e9;
    }
  }
  received.best = std::max(received.best, Within(*rule, mark, std::max(until - sent_, 0.0)));
  const std::int64_t worth = ToMicro(Worth(*rule, received.best)).value();
  *micro = std::max<std::int64_t>(worth - paid_, 0);
  paid_ += *micro;
  return nullptr;
}

const char* OracleJob::Reprice(const std::vector<v1::TrickleRule>& rules, double cobblestones_per_gflops_day,
                               std::int64_t expected) {
  if (rules.size() != terms_.rules.size()) return "NOT_SUPPORTED";
  for (const v1::TrickleRule& was : terms_.rules) {
    const auto is = std::find_if(rules.begin(), rules.end(),
                                 [&](const v1::TrickleRule& one) { return one.variety() == was.variety(); });
    if (is == rules.end()) return "NOT_SUPPORTED";
    const auto counts = [](const v1::TrickleRule& rule) {
      return std::tuple(rule.kind(), rule.measure(), rule.incremental(), rule.max_increment(),
                        rule.min_step_seconds(),
                        rule.phases().empty() ? 0 : rule.phases().rbegin()->last_step());
    };
    if (counts(*is) != counts(was)) return "NOT_SUPPORTED";
  }
  Terms before = terms_;
  terms_.rules = rules;
  terms_.cobblestones_per_gflops_day = cobblestones_per_gflops_day;
  std::int64_t worth = 0;
  for (const v1::TrickleRule& rule : rules)
    if (const auto received = received_.find(rule.variety()); received != received_.end())
      worth = std::max(worth, ToMicro(Worth(rule, received->second.best)).value());
  if (worth != expected) {
    terms_ = std::move(before);
    return "OUT_OF_RANGE";
  }
  paid_ = worth;
  return nullptr;
}

std::vector<std::int64_t> ReversedShares(const OraclePaid& paid, std::int64_t worth,
                                         const std::string& settlement) {
  std::vector<std::int64_t> reversed(paid.size(), 0);
  if (settlement != "settle" && settlement != "cap") return reversed;
  // Users who were paid first keep the job's worth; payments beyond it are reversed. Amounts that an operator has
  // reversed count as paid, because they were the first part of the user's payments, and are not reversed again.
  std::int64_t left = worth;
  for (std::size_t i = 0; i < paid.size(); ++i) {
    const std::int64_t keeps = std::min(left, paid[i].micro);
    reversed[i] = std::min(paid[i].micro - keeps, paid[i].micro - paid[i].reversed);
    left -= keeps;
  }
  return reversed;
}

}  // namespace cobblestone::testing
