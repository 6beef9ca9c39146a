// The verb `fleet`, and the verbs below it.
#pragma once

#include "services/cli/verb.h"

namespace cobblestone {

void AddFleet(cli::Program& program);
void AddFleetExample(cli::Program& program, cli::Verb& fleet);

}  // namespace cobblestone
