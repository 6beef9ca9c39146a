#include "services/corrections/trickle_spans.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cobblestone::corrections {

namespace {

using credit::MicroCredit;
using credit::MicroTotal;

using Highest = std::map<std::size_t, double>;  // marks, by variety

std::vector<credit::RecordedHighWaterMark> HighWaterMarksOf(const LedgerResult& result,
                                                            const Highest& highest) {
  std::vector<credit::RecordedHighWaterMark> high_water_marks;
  for (const auto& [variety, high_water_mark] : highest)
    high_water_marks.push_back({.variety = result.prices[variety].first,
                                .price = result.prices[variety].second,
                                .high_water_mark = high_water_mark});
  return high_water_marks;
}

// Whether marks that paid nothing count. In a running job CLAIMS prices these marks too. In a job that was
// repriced while it ran, they paid nothing at a price other than that of the dispatch. In other jobs, the
// dispatch price shows that these marks were worth no more than the payments.
bool CountsUnpaid(const LedgerResult& result) { return result.Repriced() > 0 || result.Runs(); }

Highest HighestOf(const LedgerResult& result, bool with_late) {
  Highest highest;
  for (const auto& [message, high_water_mark] : result.unpaid) {
    const std::string& variety = std::get<0>(message);
    const bool late = std::get<2>(message);
    const auto price = std::find_if(result.prices.begin(), result.prices.end(),
                                    [&](const auto& one) { return one.first == variety; });
    if (!CountsUnpaid(result) || price == result.prices.end() || (late && !with_late)) continue;
    double& of_variety = highest[static_cast<std::size_t>(price - result.prices.begin())];
    of_variety = std::max(of_variety, high_water_mark);
  }
  if (with_late)
    for (const CoveredTrickle& one : result.covered)
      highest[one.variety] = std::max(highest[one.variety], one.high_water_mark);
  for (const auto& [owner, records] : result.owners)
    for (const ResultRecord& record : records)
      if (record.partial() && (with_late || !record.late()))
        highest[record.variety] = std::max(highest[record.variety], record.high_water_mark);
  return highest;
}

// One owner's trickle payments that were posted to one team.
struct TakenOf {
  PaidSums sums;
  std::vector<const ResultRecord*> trickles;
  std::map<MicroTotal, std::size_t> after;  // number of trickles after which `sums.paid` had this value
  std::size_t taken = 0;                    // number of trickles that operators reversed: the first ones
};

// Finds the trickles that operators reversed while the job ran: for each owner and team, the first trickles up
// to the sum that the operators named.
std::string FindTaken(const LedgerResult& result, std::set<const ResultRecord*>* taken) {
  for (const auto& [owner, records] : result.owners) {
    std::map<TeamId, TakenOf> by_team;
    for (const ResultRecord& record : records) {
      if (record.settles()) break;
      TakenOf& its = by_team[record.team];
      if (record.partial() && !record.late()) {
        its.trickles.push_back(&record);
        its.sums.Add(record);
        its.after[its.sums.paid] = its.trickles.size();
      } else if (record.while_running()) {
        if (record.waited) return "the trickle payments were corrected before the user was known";
        its.sums.Add(record);
        if (record.repriced != 0) {
          its.after = {{its.sums.paid, its.trickles.size()}};
          continue;
        }
        const auto upto = its.after.find(record.paid);
        if (upto == its.after.end())
          return "the amount reversed while the job was running is not a sum of its trickles";
        its.taken = upto->second;
      }
    }
    for (const auto& [team, its] : by_team)
      taken->insert(its.trickles.begin(), its.trickles.begin() + static_cast<std::ptrdiff_t>(its.taken));
  }
  return {};
}

std::string NothingBetween(const std::vector<TrickleSpan>& spans) {
  const bool owners = std::any_of(spans.begin(), spans.end(),
                                  [&](const TrickleSpan& one) { return one.owner != spans[0].owner; });
  return std::string(owners ? "the trickles were paid to several owners"
                            : "the trickles were paid to several teams, or partly reversed") +
         ", and an unpaid trickle between them may have a worth by this version";
}

}  // namespace

TrickleWorth RepriceTrickleWorth(const LedgerResult& result, const credit::PolicyVersion& then,
                                 const credit::PolicyVersion& version) {
  TrickleWorth worth;
  for (const auto& [with_late, to] : {std::pair{false, &worth.before}, std::pair{true, &worth.all}}) {
    credit::Repriced repriced =
        credit::RepriceTrickles(HighWaterMarksOf(result, HighestOf(result, with_late)), then, version);
    worth.problem = std::move(repriced.problem);
    if (!worth.problem.empty()) break;
    *to = repriced.micro;
  }
  return worth;
}

TrickleSpans RepriceSpans(const LedgerResult& result, const credit::PolicyVersion& then,
                          const credit::PolicyVersion& version) {
  TrickleSpans repriced;
  std::set<const ResultRecord*> taken;
  repriced.problem = FindTaken(result, &taken);
  if (!repriced.problem.empty()) return repriced;
  for (const auto& [owner, records] : result.owners)
    for (const ResultRecord& record : records)
      if (record.partial())
        repriced.spans.push_back({.owner = owner, .record = &record, .taken = taken.contains(&record)});
  // `paid_before` may fall when a running job is repriced.
  std::stable_sort(repriced.spans.begin(), repriced.spans.end(),
                   [](const TrickleSpan& a, const TrickleSpan& b) {
                     return std::tie(a.record->repriced, a.record->paid_before) <
                            std::tie(b.record->repriced, b.record->paid_before);
                   });
  Highest highest;
  MicroCredit total = 0;
  for (TrickleSpan& span : repriced.spans) {
    // A message that paid nothing, perhaps another owner's, may have raised the mark before.
    double& high_water_mark = highest[span.record->variety];
    high_water_mark = std::max(high_water_mark, span.record->mark_before);
    const auto before = credit::RepriceTrickles(HighWaterMarksOf(result, highest), then, version);
    high_water_mark = std::max(high_water_mark, span.record->high_water_mark);
    const auto after = credit::RepriceTrickles(HighWaterMarksOf(result, highest), then, version);
    if (!before.problem.empty() || before.micro != total || !after.problem.empty())
      return {.problem = NothingBetween(repriced.spans)};
    span.begin = total;
    span.end = total = after.micro;
  }
  // Such a message may also have come after the last payment.
  const TrickleWorth worth = RepriceTrickleWorth(result, then, version);
  if (!worth.problem.empty()) return {.problem = worth.problem};
  if (worth.all != total) return {.problem = NothingBetween(repriced.spans)};
  return repriced;
}

RepricedRunning RepriceRunning(const LedgerResult& result, const stage::ProjectView& view,
                               std::uint32_t version) {
  RepricedRunning repriced;
  const auto cannot = [](std::string why) { return RepricedRunning{.problem = std::move(why)}; };
  for (const auto& [owner, records] : result.owners)
    for (const ResultRecord& record : records)
      if (record.while_running() && record.waited)
        return cannot("the trickle payments were corrected before the user was known");
  if (result.resent || result.prices.empty())
    return cannot("the result was sent more than once, with trickle payments each time");
  const credit::PolicyVersion* then = view.FindPolicy(result.app, result.prices[0].second.rule_version);
  const credit::PolicyVersion* is = view.FindPolicy(result.app, version);
  if (then == nullptr || is == nullptr) return cannot(kVersionUnknown);
  if (auto why = credit::CannotContinue(*then, *is)) return cannot(*why);
  for (const auto& [owner, records] : result.owners)
    for (const RunningShare& share : RunningSharesOf(result, owner))
      repriced.shares.push_back({.owner = owner, .now = share});
  if (repriced.shares.empty()) return cannot("the trickles have no payments");
  if (repriced.shares.front().owner.host != repriced.shares.back().owner.host)
    return cannot("the trickles were paid to several owners of several hosts");
  if (repriced.shares.size() == 1 && repriced.shares.front().now.sums.taken == 0) {
    const TrickleWorth worth = RepriceTrickleWorth(result, *then, *is);
    if (!worth.problem.empty()) return cannot(worth.problem);
    repriced.shares.front().paid = worth.before;
    return repriced;
  }
  const TrickleSpans spans = RepriceSpans(result, *then, *is);
  if (!spans.problem.empty()) return cannot(spans.problem);
  for (const TrickleSpan& span : spans.spans) {
    const auto share =
        std::find_if(repriced.shares.begin(), repriced.shares.end(), [&](const RepricedRunningShare& one) {
          return one.owner == span.owner && one.now.entry.team == span.record->team;
        });
    if (share == repriced.shares.end()) return cannot("the trickles have no payments");
    share->paid += span.end - span.begin;
    if (span.taken) share->taken += span.end - span.begin;
  }
  return repriced;
}

}  // namespace cobblestone::corrections
