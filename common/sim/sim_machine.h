// The disk and the state thread of a simulated machine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/stream/kafka/background.h"
#include "common/stream/kafka/state.h"

namespace cobblestone::sim {

// States of slots, in memory; they outlive the worker.
class SimDisk final : public stream::kafka::StateSpace {
 public:
  Result<std::unique_ptr<store::Store>> Open(std::uint32_t slot) override;
  Status Remove(std::uint32_t slot) override;
  Result<std::unique_ptr<store::Store>> OpenCopy(std::uint32_t slot, store::Store& of) override;
  void RemoveCopy(std::uint32_t) override {}
  std::vector<std::uint32_t> Slots() override;
  stream::kafka::Trace* TraceOf(std::uint32_t slot) override { return &traces_[slot]; }

  void Lose() { rows_.clear(); }
  // Damages a row of some slot. False: there is no row.
  bool Damage(std::mt19937_64& random);
  // While the disk is full nothing is written, and a state that is not open cannot be opened.
  void Fill(bool full) { *full_ = full; }
  [[nodiscard]] bool full() const { return *full_; }
  // Removes the state of a slot.
  void Forget(std::uint32_t slot) { rows_.erase(slot); }

  struct Rows {
    std::map<std::string, std::string> rows;
    std::set<std::string> damaged;
    std::string meta;
    bool has_meta = false;
  };

 private:
  std::map<std::uint32_t, std::shared_ptr<Rows>> rows_;
  std::map<std::uint32_t, stream::kafka::Trace> traces_;
  std::shared_ptr<bool> full_ = std::make_shared<bool>(false);
};

// The schedule decides when jobs run; the jobs of a crashed machine never run.
class SimBackground final : public stream::kafka::Background {
 public:
  void Run(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  void Drain() override {
    while (!dead_ && RunOne()) {
    }
  }
  bool RunOne();
  void Die() {
    dead_ = true;
    jobs_.clear();
  }

 private:
  std::deque<std::function<void()>> jobs_;
  bool dead_ = false;
};

}  // namespace cobblestone::sim
