// The verb `lab`.
#pragma once

#include "services/cobblestone/commands/command.h"

namespace cobblestone {

void AddLab(Program& program);

}  // namespace cobblestone
