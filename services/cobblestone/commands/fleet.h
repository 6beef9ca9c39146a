// The verb `fleet`, and the verbs below it.
#pragma once

#include "services/cobblestone/commands/command.h"

namespace cobblestone {

void AddFleet(Program& program);
void AddFleetExample(Program& program, Verb& fleet);

}  // namespace cobblestone
