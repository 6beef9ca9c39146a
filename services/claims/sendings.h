// A result that was sent more than once: a project sends a lost task again to the same host.
//
// Its dispatches are kept in order of their sent times; the newest is stored apart from the dispatches that it
// has replaced. Two dispatches with one sent time are not two sendings, and neither are dispatches without a
// sent time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/wire/events/facts.h"
#include "services/claims/kept_events.h"
#include "services/claims/open_jobs.h"

namespace cobblestone::claims {

// The sendings that are kept in this row of `table`, in order.
inline std::vector<SentAs> SendingsOf(const stream::TableBase& table, const stream::Key& key,
                                      const std::vector<std::string>& replaced, const std::string& newest) {
  std::vector<SentAs> sent;
  const auto add = [&](const std::string& bytes) {
    const wire::Event event = ParseKept<wire::Dispatch>(table, key, bytes);
    sent.push_back(SentAsOf(std::get<wire::Dispatch>(event.body).facts));
  };
  for (const std::string& bytes : replaced) add(bytes);
  if (!newest.empty()) add(newest);
  return sent;
}

// True if a kept dispatch has the same facts.
inline bool IsOneOf(std::string_view dispatch, const std::vector<std::string>& replaced,
                    const std::string& newest) {
  const auto same = [&](const std::string& one) { return wire::SameFacts(one, dispatch); };
  return (!newest.empty() && same(newest)) || std::any_of(replaced.begin(), replaced.end(), same);
}

// The reason why the dispatch is not a further sending; null: it is a further sending, or the first.
inline const char* WhyNoSending(const SentAs& dispatch, const std::vector<SentAs>& sent) {
  for (const SentAs& one : sent) {
    if (!(dispatch.sent_time > 0) || !(one.sent_time > 0)) return "another dispatch of this result";
    if (AreOfOneSending(one.sent_time, dispatch.sent_time))
      return "another dispatch of this result has the same sent time";
    if (one.app != dispatch.app) return "another dispatch of this result has another app";
  }
  return nullptr;
}

// The dispatch's place among the known sendings.
inline std::size_t PlaceOf(const SentAs& dispatch, const std::vector<SentAs>& sent) {
  const auto later = std::find_if(sent.begin(), sent.end(),
                                  [&](const SentAs& one) { return one.sent_time > dispatch.sent_time; });
  return static_cast<std::size_t>(later - sent.begin());
}

// Inserts the dispatch at `place`.
inline void KeepDispatch(std::string dispatch, std::size_t place, std::vector<std::string>* replaced,
                         std::string* newest) {
  if (!newest->empty()) {
    if (place > replaced->size()) newest->swap(dispatch);
    place = std::min(place, replaced->size());
    replaced->insert(replaced->begin() + static_cast<std::ptrdiff_t>(place), std::move(dispatch));
    if (replaced->size() >= kMaxSendings) replaced->erase(replaced->begin());
    return;
  }
  *newest = std::move(dispatch);
}

}  // namespace cobblestone::claims
