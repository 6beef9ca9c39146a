// The verbs below `fleet`.
#pragma once

#include "services/cobblestone/commands/command.h"

namespace cobblestone {

void AddFleet(Program& program);

}  // namespace cobblestone
