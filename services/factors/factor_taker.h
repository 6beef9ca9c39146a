// Keeps the factors of a deployment at those of its hub: asks GET {hub.url}/api/v1/federation/factors every
// `hub.interval`, and sends changed factors as events through the ordinary intake, from a source of its own. While the
// hub is away nothing happens: factors are events, so those sent last stay in force.
//
// Exactly once: an answer is compared with the committed factors, and an event that is sent again, after a crash or by
// another process, is an exact repeat that the coordinator drops. Several processes may therefore ask.
//
// Threads: one of its own. The public functions: any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/factors/factor_events.h"
#include "services/factors/fetch.h"
#include "services/gateway/pipeline.h"
#include "services/metrics/hub_families.h"
#include "services/view/state.h"

namespace cobblestone::factors {

struct TakerOptions {
  settings::HubSettings hub;
  double future_limit = 3600;          // s by which the answer's time may be ahead of the clock
  std::string source = "hub-factors";  // one for each process
  FetchLimits limits;
  std::function<double()> clock{};                 // UNIX s; the wall clock if empty
  std::function<void(const std::string&)> info{};  // any thread; may be empty
  std::function<void(const std::string&)> warn{};
};

class FactorTaker {
 public:
  // Asks at once, then every interval. `state` and `pipeline` must outlive it.
  FactorTaker(TakerOptions options, view::State& state, gateway::Pipeline& pipeline);
  // Ends a question in progress.
  ~FactorTaker();

  // Asks once, now. Ok: the answer was accepted, and its changes are durable.
  Status AskNow();
  [[nodiscard]] metrics::HubLook Look() const;

 private:
  void Run();
  // Wait before the next question: the interval; after failures 5 s, doubled by each, at most the interval. Times of
  // several deployments differ by chance.
  [[nodiscard]] std::chrono::duration<double> NextWait(std::uint64_t failures_in_a_row);
  // `*rejected`: factors of an accepted answer that are not applied; for the operator, empty if there are none.
  Status Ask(std::string* rejected);
  // The committed factors, with those sent since. Requires asking_.
  Result<std::vector<ProjectFactors>> Committed();
  Status Send(const std::vector<wire::Event>& events);
  [[nodiscard]] double Now() const;

  const TakerOptions options_;
  view::State& state_;
  gateway::Pipeline& pipeline_;
  std::mutex asking_;
  // Sent, by project and plan class, until the committed state shows them, which takes a while on Kafka. Guarded by
  // asking_.
  std::map<std::pair<std::uint32_t, std::string>, ProjectFactors::InForce> sent_;
  double newest_ = 0;  // as_of of the newest answer; guarded by asking_
  mutable std::mutex mutex_;
  metrics::HubLook look_;     // guarded by mutex_
  std::string last_warning_;  // guarded by mutex_
  std::atomic<bool> stop_{false};
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace cobblestone::factors
