// Shared by the handlers of a federation hub.
#pragma once

#include "services/gateway/message.h"

namespace cobblestone::gateway {

// 404: the deployment is no hub.
Answer NoHub();

}  // namespace cobblestone::gateway
