#include "services/intake/block_maker.h"

#include <utility>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/intake/block_size.h"

namespace cobblestone::intake {

using pipeline::PeriodKind;
using pipeline::PeriodKindOf;
using pipeline::StandsAlone;

std::string ProblemOf(const std::optional<wire::Routing>& routing) {
  if (!routing) return "the bytes are not an Envelope";
  if (!wire::IsOurOwn(routing->kind)) return {};
  return "only the pipeline may create a " + std::string(wire::EventKindName(routing->kind));
}

SourceLine NotAnEvent(std::string_view raw, std::string problem) {
  return {.envelope = {},
          .original = std::string(raw.empty() ? std::string_view("\0", 1) : raw),
          .problem = std::move(problem)};
}

void Classifier::Classify(Step* step) {
  const std::string& envelope = step->line.envelope;
  const auto routing = wire::PeekRouting(envelope);
  step->line.problem = ProblemOf(routing);
  step->completion = routing && routing->kind == wire::EventKind::kCompletion;
  if (separation_ == Separation::kKinds) {
    step->period_kind = PeriodKindOf(envelope);
    if (step->period_kind == PeriodKind::kTick) step->barrier = BarrierNeed::kAlone;
    if (StandsAlone(step->period_kind) && step->barrier == BarrierNeed::kNone)
      step->barrier = BarrierNeed::kJoin;
    return;
  }
  if (!step->line.problem.empty()) return;
  const wire::EventKind kind = routing->kind;
  if (step->completion || kind == wire::EventKind::kValidation) return;
  // The topic does not depend on the number of partitions.
  const stream::TopicIndex topic = wire::RouteEvent(*routing, 1).topic;
  const bool members = topic == wire::kUsers || topic == wire::kTeams;
  if (kind == wire::EventKind::kTick || kind == wire::EventKind::kBarrier) {
    step->barrier = separation_ == Separation::kMembers ? BarrierNeed::kAlone : BarrierNeed::kNone;
  } else if (merges_.MustWait(kind, envelope)) {
    step->barrier = BarrierNeed::kAlone;
  } else if (topic == wire::kCatalogue || (separation_ == Separation::kMembers && members)) {
    step->barrier = BarrierNeed::kJoin;
  }
}

void BlockMaker::Put(Step step, const stream::Hash128& hash) {
  // A line without a kind, such as a bad line, does not separate two lines of one kind.
  const bool fits = step.period_kind == PeriodKind::kNothing || open_kind_ == PeriodKind::kNothing ||
                    step.period_kind == open_kind_;
  if (step.barrier == BarrierNeed::kAlone || step.barrier != open_barrier_ || !fits) Close();
  if (!has_open_) {
    open_ = {.block = pattern_};
    open_.block.first_line = position_;
    open_.block.barrier = step.barrier != BarrierNeed::kNone;
    open_.block.ends_period = step.barrier == BarrierNeed::kAlone;
    open_barrier_ = step.barrier;
    open_kind_ = PeriodKind::kNothing;
    has_open_ = true;
  }
  ++position_;
  if (step.period_kind != PeriodKind::kNothing) open_kind_ = step.period_kind;
  open_.bytes += step.line.envelope.size() + step.line.original.size() + 1;
  open_.completions += step.completion ? 1 : 0;
  if (!step.line.problem.empty()) open_.bad_lines.push_back({step.file_line + 1, step.line.problem});
  open_.block.hash = hash;
  open_.block.lines.push_back(std::move(step.line));
  const bool broadcasts = open_barrier_ == BarrierNeed::kJoin && open_kind_ == PeriodKind::kNothing;
  if (open_barrier_ == BarrierNeed::kAlone || open_.bytes >= kBlockBytes ||
      open_.block.lines.size() >= (broadcasts ? kBlockBroadcasts : kBlockLines))
    Close();
}

void BlockMaker::Close() {
  if (!has_open_) return;
  complete_.push_back(std::move(open_));
  has_open_ = false;
}

MadeBlock BlockMaker::Take() {
  MadeBlock made = std::move(complete_.front());
  complete_.pop_front();
  return made;
}

}  // namespace cobblestone::intake
