#include "common/stream/kafka/task/task_parts.h"

namespace cobblestone::stream::kafka {

TaskParts::TaskParts(const TaskContext& task_context, const SlotFactory& factory)
    : context(task_context),
      state(context, factory),
      inputs(context, state),
      order(context, state, inputs),
      trace(context.space.TraceOf(context.slot)),
      feeder(context, state, inputs, order, trace),
      care(context, state, inputs, order, feeder, trace),
      reexecution(context, state, inputs, feeder, trace),
      checkpoint_reading(context),
      keeper(context, state),
      transaction(context),
      checkpoint_writer(context) {}

TaskParts::~TaskParts() {
  StopReading();
  context.background.Drain();
}

Status TaskParts::OpenState() {
  if (Status s = state.OpenStore(); !s.ok()) return s;
  return OpenSlot();
}

Status TaskParts::OpenSlot() {
  if (Status s = state.OpenSlot(); !s.ok()) return s;
  inputs.Rebuild();
  feeder.Reset();
  reexecution.Reset();
  transaction.Drop();
  care.DropRound();
  checkpoint_writer.Drop();
  keeper.Reset();
  return Status::Ok();
}

Status TaskParts::RemoveState() {
  StopReading();
  context.background.Drain();
  checkpoint_writer.Drop();
  checkpoint_reading.DropFollowing();
  keeper.DropWrite();
  return state.Remove();
}

void TaskParts::StopReading() {
  inputs.Stop();
  reexecution.Stop();
  checkpoint_reading.Stop();
}

}  // namespace cobblestone::stream::kafka
