#include "services/pipeline/event_time.h"

#include <cmath>

#include "common/credit/model/constants.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::pipeline {

bool IsWellFormed(std::string_view envelope) {
  const auto event = wire::ParseEvent(envelope);
  return event.ok() && !wire::CheckEvent(*event);
}

std::string EncodeTick(ProjectId project, double time) {
  return wire::EncodeEvent(
      {.head = {.id = static_cast<std::uint64_t>(time), .project = project, .time = time},
       .body = wire::Tick{.time = time}});
}

TickMaker::Due TickMaker::DueBefore(std::string_view envelope) {
  const double time = wire::PeekEventTime(envelope).value_or(0);
  if (!(time > 0) || !std::isfinite(time)) return {};
  const auto routing = wire::PeekRouting(envelope);
  if (!routing || !routing->project) return {};
  const auto known = nexts_.find(routing->project.value);
  if (known != nexts_.end() && time < known->second) return {};
  if (!IsWellFormed(envelope)) return {};
  if (known != nexts_.end()) return {.project = routing->project, .time = time, .next = &known->second};
  nexts_[routing->project.value] = (std::floor(time / period_) + 1) * period_;
  return {};
}

double TickMaker::StepTo(double time, double next) const {
  return time - next > credit::kSecondsPerDay ? std::floor(time / period_) * period_ : next;
}

}  // namespace cobblestone::pipeline
