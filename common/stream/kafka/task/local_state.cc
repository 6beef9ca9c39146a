#include "common/stream/kafka/task/local_state.h"

#include <string>
#include <utility>

namespace cobblestone::stream::kafka {

Status LocalState::OpenStore() {
  store_.reset();
  parts_ = {};
  auto opened = context_.space.Open(context_.slot);
  std::string damage;
  if (opened.ok()) {
    const auto bytes = (*opened)->Meta();
    if (bytes.ok() && IsUnfinishedRestore(*bytes))
      damage = "an earlier restore from a checkpoint was not finished";
    // The committed position decides whether this program may run the slot. The local state may come from a
    // newer program that was a standby.
    const auto meta = bytes.ok() ? DecodeSlotMeta(*bytes) : Result<SlotMeta>(bytes.status());
    if (meta.ok() && meta->rules_version > context_.options.rules_version)
      damage = "the state has rules version " + std::to_string(meta->rules_version) +
               ", but this program has " + std::to_string(context_.options.rules_version);
  } else if (opened.status().code() == StatusCode::kCorrupted) {
    damage = opened.status().message();
  } else {
    return opened.status();
  }
  if (!damage.empty()) {
    context_.report("the state of " + context_.Name() + " is discarded: " + damage);
    if (opened.ok()) opened->reset();
    if (Status s = context_.space.Remove(context_.slot); !s.ok()) return s;
    opened = context_.space.Open(context_.slot);
    if (!opened.ok()) return opened.status();
  }
  store_ = std::move(*opened);
  return Status::Ok();
}

Status LocalState::OpenSlot() {
  parts_ = {};
  parts_ = factory_(context_.slot);
  if (Status s = parts_.slot->Open(store_.get(), context_.options.object_bytes / 2); !s.ok()) {
    parts_ = {};
    return s;
  }
  DeleteEveryRow(true);
  return Status::Ok();
}

Status LocalState::Remove() {
  parts_ = {};
  store_.reset();
  return context_.space.Remove(context_.slot);
}

}  // namespace cobblestone::stream::kafka
