#include "common/stream/embedded/runner/waves.h"

#include <algorithm>

namespace cobblestone::stream::embedded {

Waves::Waves(std::uint32_t slots, std::size_t stages, std::uint32_t threads)
    : slots_(slots), stages_(stages), threads_(std::max(1u, threads)), stage_(stages) {}

void Waves::Begin(Time now, bool loaded) {
  begun_ = now;
  loaded_ = loaded;
  stage_ = 0;
  taken_.assign(slots_, false);
  left_ = slots_;
}

std::optional<std::uint32_t> Waves::Take(std::uint32_t thread) {
  for (std::uint32_t step = 0; left_ > 0 && step < slots_; ++step) {
    const std::uint32_t k = SlotOf(thread, step);
    if (taken_[k]) continue;
    taken_[k] = true;
    --left_;
    ++running_;
    return k;
  }
  return std::nullopt;
}

Waves::Change Waves::Done() {
  --running_;
  if (left_ > 0 || !active()) return Change::kNone;
  const bool last = stage_ + 1 == stages_;
  if (running_ > 0 && (last || !loaded_)) return Change::kNone;
  ++stage_;
  if (last) return Change::kWaveEnded;
  taken_.assign(slots_, false);
  left_ = slots_;
  return Change::kNextStage;
}

}  // namespace cobblestone::stream::embedded
