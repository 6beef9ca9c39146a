#include "services/access/refused_question.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/access/parameters.h"
#include "services/view/json.h"

namespace cobblestone::access {

using nlohmann::json;

namespace {

// As `read`, with decoded records.
Result<std::uint64_t> ReadDecoded(const RefusedSource& source, std::uint64_t from,
                                  const std::function<bool(std::uint64_t, const wire::Refused&)>& visit) {
  Status bad;
  auto all = source.read(from, [&](std::uint64_t number, std::string_view record) {
    wire::Refused refused;
    if (wire::DecodeRefused(record, &refused)) return visit(number, refused);
    bad = Status::Corrupted("refused record " + std::to_string(number) + " cannot be decoded");
    return false;
  });
  return bad.ok() ? std::move(all) : bad;
}

// The partitions of topics with events, and with broadcasts that the coordinator relays.
std::vector<stream::TopicPartition> EventPlaces(std::uint32_t partitions) {
  std::vector<stream::TopicPartition> places;
  const auto topics = wire::Manifest(partitions);
  for (stream::TopicIndex topic = wire::kCompletions; topic <= wire::kControl; ++topic)
    for (std::uint32_t p = 0; p < topics[topic].partitions; ++p) places.push_back({topic, p});
  return places;
}

Result<json> Point(const RefusedSource& source) {
  const auto all = source.read(0, [](std::uint64_t, std::string_view) { return false; });
  if (!all.ok()) return all.status();
  const auto ends = source.ends(EventPlaces(source.partitions));
  if (!ends.ok()) return ends.status();
  std::string since;
  for (const std::uint64_t end : *ends) since += (since.empty() ? "" : ",") + std::to_string(end);
  // Fits into the head of a request; without it, all events are later ones.
  constexpr std::size_t kLongest = 24 * 1024;
  return json{{"all", *all}, {"since", since.size() <= kLongest ? since : std::string()}};
}

Result<json> Count(Parameters& parameters, const RefusedSource& source) {
  const auto from = parameters.Optional<std::uint64_t>("from", 0);
  const auto since = parameters.Has("since") ? parameters.Numbers("since") : std::vector<std::uint64_t>();
  const auto project = parameters.Optional<std::uint64_t>("of_project", 0);  // 0: of every project
  if (!parameters.status().ok()) return parameters.status();
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> ends;
  const auto places = EventPlaces(source.partitions);
  for (std::size_t i = 0; i < std::min(places.size(), since.size()); ++i)
    ends[{std::string(wire::TopicName(places[i].topic)), places[i].partition}] = since[i];
  std::uint64_t events = 0;
  std::uint64_t results = 0;
  std::uint64_t derived = 0;
  std::uint64_t earlier = 0;
  std::map<std::string, std::uint64_t> reasons;
  std::map<std::string, std::uint64_t> kinds;
  json first = json::array();
  // Several stages, or several partitions, may refuse one record.
  std::set<std::tuple<std::string, std::uint32_t, std::uint64_t>> seen;
  const auto all = ReadDecoded(source, from, [&](std::uint64_t number, const wire::Refused& refused) {
    if (project != 0 && refused.project && refused.project.value != project) return true;
    if (!refused.source.empty() || !seen.emplace(refused.topic, refused.partition, refused.offset).second)
      return true;
    const auto end = ends.find({refused.topic, refused.partition});
    if (end != ends.end() && refused.offset < end->second) {
      ++earlier;
      return true;
    }
    const bool is_event = !view::IsDerived(refused);
    ++(is_event ? events : derived);
    ++reasons[std::string(wire::RefusalReasonName(refused.refusal.reason))];
    if (is_event) {
      const wire::EventKind kind = wire::PeekKind(refused.original).value_or(wire::EventKind::kNone);
      if (kind == wire::EventKind::kCompletion) ++results;
      ++kinds[std::string(wire::EventKindName(kind))];
    }
    if (first.size() < kRefusalsFirst) first.push_back(view::RefusedJson(number, refused));
    return true;
  });
  if (!all.ok()) return all.status();
  return json{{"events", events}, {"results", results}, {"derived", derived},        {"reasons", reasons},
              {"kinds", kinds},   {"earlier", earlier}, {"first", std::move(first)}, {"all", *all}};
}

json OneOf(std::uint64_t number, const wire::Refused& refused) {
  json one{{"number", number},
           {"reason", wire::RefusalReasonName(refused.refusal.reason)},
           {"detail", refused.refusal.detail}};
  if (view::IsDerived(refused)) return one;
  if (const auto kind = wire::PeekKind(refused.original)) one["kind"] = wire::EventKindName(*kind);
  return one;
}

}  // namespace

Result<json> AnswerRefused(const Question& question, const RefusedSource& source) {
  Parameters parameters(question);
  if (question.path == "/refused/point") return Point(source);
  if (question.path == "/refused/count") return Count(parameters, source);
  const auto reasons = parameters.Names("reasons");
  const bool newest = parameters.Has("last");
  const auto from = newest ? 0 : parameters.Optional<std::uint64_t>("from", 0);
  const auto limit = newest ? parameters.Limited("last", 20, kMaxRefusalsShown)
                            : parameters.Limited("limit", 20, kMaxRefusalsShown);
  if (!parameters.status().ok()) return parameters.status();
  std::deque<json> found;
  const auto all = ReadDecoded(source, from, [&](std::uint64_t number, const wire::Refused& refused) {
    if (!newest && found.size() >= limit) return false;
    if (!reasons.empty() && !reasons.contains(wire::RefusalReasonName(refused.refusal.reason))) return true;
    if (limit > 0) found.push_back(view::RefusedJson(number, refused));
    if (found.size() > limit) found.pop_front();
    return true;
  });
  if (!all.ok()) return all.status();
  return json{{"refused", found}, {"all", *all}};
}

Result<json> AnswerResubmit(const Question& question, const RefusedSource& source, const EventSender& send) {
  Parameters parameters(question);
  const bool single = parameters.Has("offset");
  const auto from = parameters.Optional<std::uint64_t>(single ? "offset" : "from", 0);
  const auto to = single ? from + 1 : parameters.Optional<std::uint64_t>("to", ~std::uint64_t{0});
  const auto limit = parameters.Limited("limit", kResubmitBlock, kResubmitBlock);
  const bool dry_run = parameters.Optional<int>("dry_run", 0) != 0;
  const auto reasons = parameters.Names("reasons");
  if (!parameters.status().ok()) return parameters.status();
  json sent = json::array();
  json left = json::array();
  Status why_not = Status::NotFound("unknown refused record " + std::to_string(from));
  std::vector<std::string> events;
  std::uint64_t next = to;
  const auto all = ReadDecoded(source, from, [&](std::uint64_t number, const wire::Refused& refused) {
    if (number >= to) return false;
    if (sent.size() + left.size() >= limit) {
      next = std::min(next, number);
      return false;
    }
    if (!reasons.empty() && !reasons.contains(wire::RefusalReasonName(refused.refusal.reason))) return true;
    json one = OneOf(number, refused);
    why_not = view::MayBeResubmitted(number, refused);
    if (why_not.ok()) {
      events.push_back(refused.original);
      sent.push_back(std::move(one));
    } else {
      one["why"] = why_not.message();
      left.push_back(std::move(one));
    }
    return true;
  });
  if (!all.ok()) return all.status();
  if (single && events.empty()) return why_not;
  if (!dry_run && !events.empty())
    if (Status s = send(events); !s.ok()) return s;
  if (single) return json{{"resubmitted", from}};
  return json{{"resubmitted", std::move(sent)}, {"left", std::move(left)}, {"next", next}, {"all", *all}};
}

}  // namespace cobblestone::access
