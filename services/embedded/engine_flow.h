// Throughput of an engine for the log of `run`, at intervals.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "services/embedded/engine.h"

namespace cobblestone::embedded {

class EngineFlow {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kEvery = std::chrono::seconds(10);

  // The engine must outlive the flow.
  explicit EngineFlow(Engine& engine) : engine_(engine), last_(Look()) {}

  // Results and grants per second, records behind, and refusals since the last period and in all. A period lasts kEvery
  // or longer. None: the period has not ended, or nothing happened in it and nothing waits.
  std::optional<nlohmann::json> Report();

 private:
  struct Counts {
    std::uint64_t completions = 0;
    std::uint64_t grants = 0;
    std::uint64_t refused = 0;
    std::uint64_t lag = 0;
    [[nodiscard]] bool Moved(const Counts& before) const {
      return completions != before.completions || grants != before.grants || refused != before.refused;
    }
  };
  [[nodiscard]] Counts Look() const;

  Engine& engine_;
  Clock::time_point reported_ = Clock::now();
  Counts last_;
};

}  // namespace cobblestone::embedded
