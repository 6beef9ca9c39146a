// The order of the work: which slot a thread works on next. The work runs in waves (runner.h): the first stage of
// every slot, then the second stage of every slot, and so on.
//
// A slot is taken once per stage. A stage is over when every slot was taken and no thread works on a slot any more:
// the next stage then reads everything that this stage has written. In a wave that began with many waiting records
// (`loaded`), a stage is over when every slot was taken; the next stage reads the records that it misses in the next
// wave. The last stage always waits for all threads.
//
// Pure: no clock, lock or thread. The runner guards it with its mutex.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cobblestone::stream::embedded {

class Waves {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The change in the wave when a thread is done with a slot.
  enum class Change : std::uint8_t { kNone, kNextStage, kWaveEnded };

  Waves() = default;  // no slots
  // `stages`: the largest number of stages of a slot.
  Waves(std::uint32_t slots, std::size_t stages, std::uint32_t threads);

  [[nodiscard]] bool active() const { return stage_ < stages_; }
  [[nodiscard]] std::size_t stage() const { return stage_; }
  [[nodiscard]] Time begun() const { return begun_; }  // start of the last wave

  // No wave may be active.
  void Begin(Time now, bool loaded);
  // Takes a slot of the current stage for a thread, which calls Done() when it has worked on the slot. None: all
  // slots of the stage were taken.
  std::optional<std::uint32_t> Take(std::uint32_t thread);
  Change Done();

  // The `step`-th slot that a thread examines. Each thread begins with its own share of the slots, because the
  // state of these slots is in the cache of its core.
  [[nodiscard]] std::uint32_t SlotOf(std::uint32_t thread, std::uint32_t step) const {
    return (thread * slots_ / threads_ + step) % slots_;
  }

 private:
  std::uint32_t slots_ = 0;
  std::size_t stages_ = 0;
  std::uint32_t threads_ = 1;
  std::size_t stage_ = 0;    // stages_: no wave is active
  std::vector<bool> taken_;  // by slot, in this stage
  std::size_t left_ = 0;     // slots not taken
  std::size_t running_ = 0;  // slots that a thread works on
  bool loaded_ = false;
  Time begun_{};
};

}  // namespace cobblestone::stream::embedded
