// Traffic as a BOINC server sends it after a host merge: in the middle of jobs, events about a host's results begin
// to name the host that it was merged into.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "tests/support/like_the_oracle.h"

namespace cobblestone::testing {

// Returns the events with other host ids: about every second event about a result of a merged host names the host that
// it was merged into, or a host further along the chain. An event belongs to the job that was sent to the original
// host, so the outcome equals that of the original events. An event is unchanged if it would then mean another host's
// job.
class HeirNames {
 public:
  enum class Of {
    kLaterPeriods,  // after the next tick, and only jobs sent before the merge
    kJobsSent,      // only jobs sent before the merge
    kAll            // also jobs sent after the host was merged, and events before the job's dispatch
  };
  explicit HeirNames(std::uint64_t seed, Of of = Of::kLaterPeriods) : random_(seed), of_(of) {}

  Events operator()(const Events& events) {
    Events all;
    for (const std::string& envelope : events) all.push_back(operator()(envelope));
    return all;
  }
  std::string operator()(const std::string& envelope);
  [[nodiscard]] std::size_t renamed() const { return renamed_; }

 private:
  using Id = std::pair<std::uint32_t, std::uint64_t>;  // project; host, or result
  struct Known {
    std::pair<double, std::uint64_t> update;
    bool usable = false;  // has an owner, and is not deleted
  };

  std::mt19937_64 random_;
  Of of_;
  std::map<Id, Known> hosts_;
  std::map<Id, std::uint64_t> merges_;  // host to its merge target
  std::map<Id, std::uint64_t> became_;
  std::map<Id, std::uint64_t> sent_;              // result to the host it was sent to
  std::map<std::string, std::uint64_t> numbers_;  // result ids by name
  std::size_t renamed_ = 0;
};

inline std::string HeirNames::operator()(const std::string& envelope) {
  auto event = wire::ParseEvent(envelope);
  if (!event.ok() || wire::CheckEvent(*event)) return envelope;
  const std::uint32_t project = event->head.project.value;
  if (const auto* host = std::get_if<wire::HostMember>(&event->body)) {
    Known& known = hosts_[{project, host->host.value}];
    const std::pair update{event->head.time, event->head.id};
    if (update > known.update) known = {update, host->user.value != 0 && !host->deleted};
  }
  if (const auto* merge = std::get_if<wire::HostMerge>(&event->body)) {
    const auto known = hosts_.find({project, merge->host.value});
    if (known != hosts_.end() && known->second.usable) {
      merges_.try_emplace({project, merge->host.value}, merge->into.value);
      if (of_ != Of::kLaterPeriods) became_ = merges_;
    }
  }
  // A tick ends a period.
  if (std::holds_alternative<wire::Tick>(event->body)) became_ = merges_;
  if (auto* dispatch = std::get_if<wire::Dispatch>(&event->body))
    sent_.emplace(Id{project, dispatch->facts.result.value},
                  of_ == Of::kAll || !merges_.contains({project, dispatch->facts.host.value})
                      ? dispatch->facts.host.value
                      : 0);
  if (auto* dispatch = std::get_if<wire::Dispatch>(&event->body))
    numbers_.emplace(dispatch->result_name, dispatch->facts.result.value);
  HostId* host = nullptr;
  ResultId result;
  if (auto* completion = std::get_if<wire::Completion>(&event->body)) {
    host = &completion->facts.host;
    result = completion->facts.result;
  } else if (auto* validation = std::get_if<credit::ValidationFacts>(&event->body)) {
    host = &validation->host;
    result = validation->result;
  } else if (auto* trickle = std::get_if<wire::Trickle>(&event->body)) {
    host = &trickle->host;
    result = trickle->result;
    if (result.value == 0) {
      const auto named = numbers_.find(trickle->result_name);
      if (named == numbers_.end()) return envelope;
      result = ResultId(named->second);
    }
  }
  if (host == nullptr || result.value == 0) return envelope;
  std::uint64_t named = host->value;
  std::set<std::uint64_t> passed;
  for (auto next = became_.find({project, named}); next != became_.end() && random_() % 2 == 0;
       next = became_.find({project, named})) {
    if (!passed.insert(named).second) break;
    named = next->second;
  }
  const auto sent = sent_.find({project, result.value});
  if (named == host->value || (sent == sent_.end() ? of_ != Of::kAll : sent->second != host->value))
    return envelope;
  *host = HostId(named);
  ++renamed_;
  return wire::EncodeEvent(*event);
}

}  // namespace cobblestone::testing
