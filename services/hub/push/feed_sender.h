// Keeps a federation hub up to date with the published accounts of this deployment's projects: every
// `hub.push_interval` it compares the committed accounts with those of the last edition, and sends the difference
// (project_push.h). While the hub is away the edition waits, and nothing is lost.
//
// Threads: one of its own. The public functions: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/pipeline.h"
#include "services/hub/push/hub_client.h"
#include "services/hub/push/project_push.h"
#include "services/metrics/hub_families.h"
#include "services/view/questions.h"
#include "services/view/state.h"

namespace cobblestone::hub {

struct FeedSenderOptions {
  settings::HubSettings hub;
  std::vector<settings::ProjectEntry> projects;  // those with a hub_project are sent
  std::string directory;                         // of this deployment's sender; one process at a time
  PushOptions push;
  std::function<void(const std::string&)> info{};  // any thread; may be empty
  std::function<void(const std::string&)> warn{};
};

class FeedSender {
 public:
  // Sends at once, then every interval; after a failure again with a growing delay. `state`: committed rows, each
  // partition of one moment. All references must outlive the sender. Errors: of the directory.
  static Result<std::unique_ptr<FeedSender>> Start(FeedSenderOptions options, view::State& state,
                                                   view::Questions& questions, gateway::Pipeline& pipeline);
  // Ends a request in progress within about a second. What the hub does not have is sent by the next start.
  ~FeedSender();

  [[nodiscard]] std::vector<metrics::HubPushLook> Look() const;

 private:
  struct Pushed {
    settings::ProjectEntry entry;
    std::unique_ptr<ProjectPush> push;
    std::uint64_t failures_in_a_row = 0;
    std::string last_warning;
  };

  FeedSender(FeedSenderOptions options, view::State& state, view::Questions& questions,
             gateway::Pipeline& pipeline);

  void Run(const std::stop_token& stop);
  // One round of one project. Returns the time until its next one.
  std::chrono::duration<double> Round(Pushed& project, std::size_t at, const std::stop_token& stop);
  void Warn(Pushed& project, const std::string& problem);
  Result<PushedContents> Contents(const settings::ProjectEntry& entry);

  const FeedSenderOptions options_;
  view::State& state_;
  view::Questions& questions_;
  gateway::Pipeline& pipeline_;
  const HubClient client_;
  std::vector<Pushed> projects_;  // used by the thread
  mutable std::mutex mutex_;
  std::vector<metrics::HubPushLook> looks_;  // guarded by mutex_; as projects_
  std::mutex wake_mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace cobblestone::hub
