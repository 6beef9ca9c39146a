// The accounts for a hub in a long-running verb.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/private_directory.h"
#include "common/stream/embedded/lock_file.h"
#include "services/cli/run_log.h"
#include "services/hub/push/feed_sender.h"

namespace cobblestone::commands {

// Sends the accounts of projects with a `hub_project` to the hub of the settings, and shows it in `metrics`; destroy it
// before everything that Start() was given.
template <class Metrics>
class HubPush {
 public:
  // None if the settings name no project for the hub. kFenced: another process sends from this data directory.
  static Result<std::unique_ptr<HubPush>> Start(const settings::RunSettings& settings, view::State& state,
                                                view::Questions& questions, gateway::Pipeline& pipeline,
                                                Metrics& metrics, cli::RunLog& log) {
    if (settings.hub.push_token_file.empty()) return std::unique_ptr<HubPush>();
    const std::string directory = settings.data_directory + "/push";
    if (Status s = MakePrivateDirectory(directory, [&log](const std::string& what) { log.Warn(what); });
        !s.ok())
      return s;
    auto lock = stream::embedded::LockFile::Take(directory + "/sender.lock");
    if (!lock.ok()) return lock.status();
    auto sender = hub::FeedSender::Start({.hub = settings.hub,
                                          .projects = settings.projects,
                                          .directory = directory,
                                          .push = {},
                                          .info = [&log](const std::string& what) { log.Info(what); },
                                          .warn = [&log](const std::string& what) { log.Warn(what); }},
                                         state, questions, pipeline);
    if (!sender.ok()) return sender.status();
    return std::unique_ptr<HubPush>(new HubPush(std::move(*lock), std::move(*sender), metrics));
  }
  ~HubPush() { metrics_.SetHubPush({}); }
  HubPush(const HubPush&) = delete;
  HubPush& operator=(const HubPush&) = delete;

 private:
  HubPush(stream::embedded::LockFile lock, std::unique_ptr<hub::FeedSender> sender, Metrics& metrics)
      : lock_(std::move(lock)), sender_(std::move(sender)), metrics_(metrics) {
    metrics_.SetHubPush([this] { return sender_->Look(); });
  }

  const stream::embedded::LockFile lock_;
  const std::unique_ptr<hub::FeedSender> sender_;
  Metrics& metrics_;
};

}  // namespace cobblestone::commands
