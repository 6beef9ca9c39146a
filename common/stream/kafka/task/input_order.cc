#include "common/stream/kafka/task/input_order.h"

#include <algorithm>

namespace cobblestone::stream::kafka {

InputOrder::InputOrder(const TaskContext& context, const LocalState& state, TaskInputs& inputs)
    : context_(context),
      state_(state),
      inputs_(inputs),
      lockstep_(std::find(context.options.lockstep_topics.begin(), context.options.lockstep_topics.end(),
                          true) != context.options.lockstep_topics.end()) {}

Status InputOrder::NextInLockstep(std::size_t stage, std::optional<std::size_t>* next) {
  next->reset();
  std::optional<std::size_t> least;
  double least_time = 0;
  bool all_show = true;
  for (const std::size_t i : inputs_.OfStage(stage)) {
    if (!state_.slot().Ready(i)) continue;
    const Message* head = nullptr;
    if (Status s = inputs_.Head(i, &head); !s.ok()) return s;
    if (!context_.options.lockstep_topics[inputs_.where(i).topic]) {
      if (head == nullptr) continue;
      *next = i;
      return Status::Ok();
    }
    if (head == nullptr) {
      all_show = false;
      continue;
    }
    const double time = inputs_.HeadTime(i, *head);
    if (least && time >= least_time) continue;
    least = i;
    least_time = time;
  }
  if (all_show) *next = least;
  return Status::Ok();
}

Status InputOrder::FirstInLockstep(std::optional<std::size_t>* next) {
  next->reset();
  for (std::size_t stage = 0; stage < inputs_.stages() && !*next; ++stage)
    if (Status s = NextInLockstep(stage, next); !s.ok()) return s;
  return Status::Ok();
}

Status InputOrder::FirstByArrival(std::size_t* input, const Message** first) {
  double first_time = 0;
  for (std::size_t stage = 0; stage < inputs_.stages() && *first == nullptr; ++stage) {
    for (const std::size_t i : inputs_.OfStage(stage)) {
      const Message* head = nullptr;
      if (Status s = inputs_.Head(i, &head); !s.ok()) return s;
      if (head == nullptr || !state_.slot().Ready(i)) continue;
      const double time = inputs_.HeadTime(i, *head);
      if (*first != nullptr && !(time < first_time)) continue;
      *first = head;
      *input = i;
      first_time = time;
    }
  }
  return Status::Ok();
}

Status InputOrder::First(std::size_t* input, const Message** first) {
  *first = nullptr;
  if (!lockstep_) return FirstByArrival(input, first);
  std::optional<std::size_t> next;
  if (Status s = FirstInLockstep(&next); !s.ok() || !next) return s;
  *input = *next;
  return inputs_.Head(*next, first);
}

Status InputOrder::Any(bool* any) {
  *any = false;
  if (lockstep_) {
    std::optional<std::size_t> next;
    if (Status s = FirstInLockstep(&next); !s.ok()) return s;
    *any = next.has_value();
    return Status::Ok();
  }
  for (std::size_t i = 0; i < inputs_.count() && !*any; ++i) {
    const Message* head = nullptr;
    if (Status s = inputs_.Head(i, &head); !s.ok()) return s;
    *any = head != nullptr && state_.slot().Ready(i);
  }
  return Status::Ok();
}

}  // namespace cobblestone::stream::kafka
