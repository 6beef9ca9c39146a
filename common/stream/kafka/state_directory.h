// Whose states a directory holds (MakeDirectoryStateSpace): those of one deployment, on one cluster. On another log they
// would go on from where they stand, and nothing but a fingerprint that differs would tell.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"

namespace cobblestone::stream::kafka {

struct DeploymentName {
  std::string cluster;  // as the brokers tell it (TopicAdmin::ClusterId)
  std::string prefix;

  friend bool operator==(const DeploymentName&, const DeploymentName&) = default;
};

// Makes the directory this deployment's, durably; before any state in it is opened. kInvalidArgument: it is another one's,
// and nothing was changed. Where it does not say whose it is, or that is damaged, what is in it is thrown away: states are
// a cache of the cluster.
Status ClaimStateDirectory(const std::string& directory, const DeploymentName& deployment,
                           const std::function<void(const std::string&)>& report);

}  // namespace cobblestone::stream::kafka
