// The verb `fleet`, and the verbs below it.
#pragma once

#include "services/commands/command.h"

namespace cobblestone::commands {

void AddFleet(Program& program);
void AddFleetExample(Program& program, Verb& fleet);

}  // namespace cobblestone::commands
