#include "common/stream/kafka/catch_up.h"

#include <numeric>
#include <thread>
#include <utility>

namespace cobblestone::stream::kafka {

namespace {

constexpr Millis kBetweenTries{50};

Result<std::vector<std::optional<Position>>> PositionsOf(Cluster& cluster,
                                                         const std::vector<std::uint32_t>& slots,
                                                         Millis patience) {
  NoListener listener;
  auto group = cluster.NewGroup("catch-up", listener);
  if (!group.ok()) return group.status();
  // A group that was never used has no coordinator yet.
  const Time deadline = cluster.Now() + patience;
  auto committed = (*group)->Committed(slots, true, patience);
  while (!committed.ok() && committed.status().code() == StatusCode::kRetry && cluster.Now() < deadline) {
    std::this_thread::sleep_for(kBetweenTries);
    committed = (*group)->Committed(slots, true, patience);
  }
  if (!committed.ok()) return committed.status();
  std::vector<std::optional<Position>> positions;
  for (const CommittedPosition& one : *committed) {
    positions.emplace_back();
    if (!one.offset) continue;
    auto position = DecodePosition(*one.offset, one.metadata);
    if (!position.ok()) return position.status();
    positions.back() = std::move(*position);
  }
  return positions;
}

}  // namespace

Result<std::vector<std::optional<Position>>> CommittedPositions(Cluster& cluster, std::uint32_t slots,
                                                                Millis patience) {
  std::vector<std::uint32_t> all(slots);
  std::iota(all.begin(), all.end(), 0u);
  return PositionsOf(cluster, all, patience);
}

Result<SlotMeta> CatchUp(Cluster& cluster, std::uint32_t slot, const TaskOptions& options,
                         const SlotFactory& factory, StateSpace& space, Background& background,
                         const CatchUpOptions& how) {
  std::optional<Position> position = how.position;
  if (!position) {
    auto committed = PositionsOf(cluster, {slot}, how.patience);
    if (!committed.ok()) return committed.status();
    position = std::move(committed->front());
  }
  auto reader = cluster.NewReader(kShortFetch);
  if (!reader.ok()) return reader.status();
  SlotMeta meta;
  {
    Task task(slot, options, factory, space, background, **reader, [](const std::string&) {});
    if (!position || position->sequence == 0) return meta;
    if (!how.checkpoint) position->checkpoint_sequence = position->checkpoint_end = 0;
    task.StopAfter(how.until != 0 ? how.until : position->sequence);
    if (how.executed) task.OnExecuted(how.executed);
    task.SetPosition(position);
    Time moved_at = cluster.Now();
    while (task.phase() != Phase::kStandby) {
      if (!task.failure().ok()) return task.failure();
      if (task.phase() == Phase::kStopped)
        return Status::Corrupted("slot " + std::to_string(slot) + ": " + task.problem());
      if (task.phase() == Phase::kPosition) task.SetPosition(position);  // its state was discarded
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
