#include "common/stream/kafka/catch_up.h"

#include <vector>

namespace cobblestone::stream::kafka {

namespace {

// The committed position; none: nothing was ever committed.
Result<std::optional<Position>> CommittedPositionOf(Cluster& cluster, std::uint32_t slot, Millis patience) {
  NoListener listener;
  auto group = cluster.NewGroup("catch-up", listener);
  if (!group.ok()) return group.status();
  auto committed = (*group)->Committed({slot}, true, patience);
  if (!committed.ok()) return committed.status();
  const CommittedPosition& one = committed->front();
  if (!one.offset) return std::optional<Position>();
  auto position = DecodePosition(*one.offset, one.metadata);
  if (!position.ok()) return position.status();
  return std::optional<Position>(*position);
}

}  // namespace

Result<SlotMeta> CatchUp(Cluster& cluster, std::uint32_t slot, const TaskOptions& options,
                         const SlotFactory& factory, StateSpace& space, Background& background,
                         const CatchUpOptions& how) {
  auto position = CommittedPositionOf(cluster, slot, how.patience);
  if (!position.ok()) return position.status();
  auto reader = cluster.NewReader();
  if (!reader.ok()) return reader.status();
  SlotMeta meta;
  {
    Task task(slot, options, factory, space, background, **reader, [](const std::string&) {});
    if (!*position) return meta;
    if (!how.checkpoint) (*position)->checkpoint_sequence = (*position)->checkpoint_end = 0;
    if (how.until != 0 || how.to_committed)
      task.StopAfter(how.until != 0 ? how.until : (*position)->sequence);
    if (how.executed) task.OnExecuted(how.executed);
    task.SetPosition(*position);
    Time moved_at = cluster.Now();
    while (task.phase() != Phase::kStandby) {
      if (!task.failure().ok()) return task.failure();
      if (task.phase() == Phase::kStopped)
        return Status::Corrupted("slot " + std::to_string(slot) + ": " + task.problem());
      if (task.phase() == Phase::kPosition) task.SetPosition(**position);  // its state was discarded
      if (task.Advance(cluster, cluster.Now() + Millis(200))) {
        moved_at = cluster.Now();
      } else {
        if (cluster.Now() - moved_at > how.patience)
          return Status::Retry("slot " + std::to_string(slot) +
                               " makes no progress; check that the cluster is reachable");
        (*reader)->Wait(Millis(100));
      }
      task.Tend(cluster.Now());
      if (how.progress) how.progress(task.Look());
      if (how.check)
        if (Status s = how.check(); !s.ok()) return s;
    }
    if (Status s = task.FlushState(); !s.ok()) return s;
    meta = task.meta();
  }
  if (how.markers) return meta;
  auto store = space.Open(slot);
  if (!store.ok()) return store.status();
  if (Status s = DropMarkers(meta, **store); !s.ok()) return s;
  return meta;
}

}  // namespace cobblestone::stream::kafka
