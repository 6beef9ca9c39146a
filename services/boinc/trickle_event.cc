#include "services/boinc/trickle_event.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common/wire/events/event_stamp.h"
#include "services/boinc/trickle_xml.h"

namespace cobblestone::boinc {
namespace {

constexpr std::array<std::pair<std::string_view, TrickleField>, 7> kFieldNames = {
    {{"nothing", TrickleField::kNothing},
     {"elapsed_time", TrickleField::kElapsedTime},
     {"cpu_time", TrickleField::kCpuTime},
     {"runtime_increment", TrickleField::kRuntimeIncrement},
     {"fraction_done", TrickleField::kFractionDone},
     {"percent_done", TrickleField::kPercentDone},
     {"steps", TrickleField::kSteps}}};

// A number that the parser of bodies knows, its names in bodies, and its default meaning.
struct Measure {
  std::optional<double> TrickleBody::*number;
  std::vector<std::string_view> names;
  std::optional<TrickleField> otherwise;  // none: the format must define the meaning
};

const std::vector<Measure>& Measures() {
  using B = TrickleBody;
  static const std::vector<Measure> kMeasures = {
      {&B::timestep, {"ts"}, TrickleField::kSteps},
      {&B::cpu_time, {"cp", "cpu_time", "cputime"}, TrickleField::kCpuTime},
      {&B::elapsed_time, {"elapsed_time"}, TrickleField::kElapsedTime},
      {&B::fraction_done, {"fraction_done"}, TrickleField::kFractionDone},
      {&B::run_time, {"run_time", "runtime"}, std::nullopt}};
  return kMeasures;
}

std::optional<TrickleField> FieldOf(const Measure& measure, const TrickleFormat& format) {
  for (const std::string_view name : measure.names) {
    const auto mapped = format.elements.find(name);
    if (mapped != format.elements.end()) return mapped->second;
  }
  return measure.otherwise;
}

// False if the field already has a number.
bool Set(TrickleField field, double value, wire::Trickle* trickle) {
  const auto once = [&value](std::optional<double>* target) {
    if (target->has_value()) return false;
    *target = value;
    return true;
  };
  switch (field) {
    case TrickleField::kNothing: return true;
    case TrickleField::kElapsedTime: return once(&trickle->elapsed_time);
    case TrickleField::kCpuTime: return once(&trickle->cpu_time);
    case TrickleField::kRuntimeIncrement: return once(&trickle->runtime_increment);
    case TrickleField::kPercentDone: value /= 100; [[fallthrough]];
    case TrickleField::kFractionDone: return once(&trickle->fraction_done);
    case TrickleField::kSteps: return once(&trickle->steps);
  }
  return true;
}

// The elements without payment, for display. A text beyond the limit is dropped, its name is kept.
std::vector<wire::TrickleElement> OthersOf(const TrickleBody& body) {
  std::vector<wire::TrickleElement> others;
  std::size_t bytes = 0;
  const auto keep = [&](const std::string& name, const std::string& text) {
    if (text.empty()) return;
    bytes += text.size();
    others.push_back({.name = name, .text = bytes <= kMaxKeptText ? text : std::string()});
  };
  keep("result", body.model_result);
  keep("wu", body.workunit);
  keep("vr", body.version);
  keep("data", body.data);
  for (const TrickleElement& element : body.others) keep(element.name, element.text);
  return others;
}

// Hashes the body without blanks, because handlers and forms change blanks.
std::uint64_t SequenceOf(const TrickleMessageRow& row, const TrickleBody& body) {
  // A later time is not valid and is not used as sequence.
  constexpr double kLastTime = 1e12;
  const double written = std::floor(body.client_time.value_or(0));
  if (!(written >= 1 && written <= kLastTime)) return row.id;
  std::string without_blanks;
  for (const char c : row.xml)
    if (static_cast<unsigned char>(c) > ' ') without_blanks.push_back(c);
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBodyBits) - 1;
  return (static_cast<std::uint64_t>(written) << kBodyBits) |
         (wire::StampOf({}, without_blanks).hash & kMask);
}

}  // namespace

std::vector<std::string_view> TrickleFieldNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, field] : kFieldNames) names.push_back(name);
  return names;
}

std::optional<TrickleField> TrickleFieldByName(std::string_view name) {
  for (const auto& [known, field] : kFieldNames) {
    if (known == name) return field;
  }
  return std::nullopt;
}

Result<TrickleEvent> TrickleOf(const TrickleMessageRow& row, const TrickleFormat& format,
                               const std::string& source) {
  const std::string name = source + ", message " + std::to_string(row.id);
  Result<TrickleBody> body = ParseTrickleBody(row.xml, name);
  if (!body.ok()) return body.status();
  const auto wrong = [&name](const std::string& what) { return Status::InvalidArgument(name + ": " + what); };
  if (!body->variety.empty() && body->variety != row.variety)
    return wrong("the body has variety '" + body->variety + "', but the row has '" + row.variety + "'");
  if (!body->result_id && body->result_name.empty())
    return wrong("the message has no result: both <result_name> and <result_id> are missing");
  if (body->result_id == std::uint64_t{0}) return wrong("<result_id> is 0, which is not a valid result");

  TrickleEvent event;
  event.head.id = row.id;
  event.head.time = row.create_time;
  event.trickle.result_name = body->result_name;
  event.trickle.result = ResultId(body->result_id.value_or(0));
  event.trickle.host = row.host;
  event.trickle.phase = body->phase;
  event.trickle.others = OthersOf(*body);
  event.trickle.app = format.app;
  event.trickle.variety = row.variety;
  event.trickle.sequence = SequenceOf(row, *body);

  const auto twice = [&wrong](std::string_view element) {
    return wrong("<" + std::string(element) +
                 "> and another element of the message map to the same field; define in the variety's "
                 "format which element counts");
  };
  for (const Measure& measure : Measures()) {
    const std::optional<double>& number = (*body).*measure.number;
    if (!number) continue;
    const auto field = FieldOf(measure, format);
    if (!field) {
      return wrong("the message has <" + std::string(measure.names.front()) +
                   ">, but the format of variety '" + row.variety +
                   "' does not define whether it counts from the start of the job (elapsed_time) or from the "
                   "last message (runtime_increment)");
    }
    if (!Set(*field, *number, &event.trickle)) return twice(measure.names.front());
  }
  for (const TrickleElement& element : body->others) {
    const auto mapped = format.elements.find(element.name);
    if (mapped == format.elements.end() || mapped->second == TrickleField::kNothing || element.text.empty())
      continue;
    const auto number = ParseTrickleNumber(element.text);
    if (!number)
      return wrong("line " + std::to_string(element.line) + ": <" + element.name +
                   "> must be a finite number of at least 0");
    if (!Set(mapped->second, *number, &event.trickle)) return twice(element.name);
  }
  return event;
}

}  // namespace cobblestone::boinc
