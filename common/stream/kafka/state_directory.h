// The deployment and cluster that a state directory (MakeDirectoryStateSpace) belongs to. On another log the
// states would continue from their position, and only a fingerprint mismatch would show the error.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"

namespace cobblestone::stream::kafka {

struct DeploymentName {
  std::string cluster;  // as reported by the brokers (TopicAdmin::ClusterId)
  std::string prefix;

  friend bool operator==(const DeploymentName&, const DeploymentName&) = default;
};

// Durably assigns the directory to this deployment; call before any state in it is opened. kInvalidArgument:
// the directory belongs to another deployment, and nothing was changed. If the assignment is missing or
// damaged, the contents are deleted: states are a cache of the cluster.
Status ClaimStateDirectory(const std::string& directory, const DeploymentName& deployment,
                           const std::function<void(const std::string&)>& report);

}  // namespace cobblestone::stream::kafka
