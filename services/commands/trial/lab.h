// The verb `lab`.
#pragma once

#include "services/commands/command.h"

namespace cobblestone::commands {

void AddLab(Program& program);

}  // namespace cobblestone::commands
