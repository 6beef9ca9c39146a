#include "services/cobblestone/commands/fleet.h"

namespace cobblestone {

void AddFleet(cli::Program& program) {
  cli::Verb verb = program.root.Sub("fleet", "Simulates the hosts of volunteers");
  AddFleetExample(program, verb);
}

}  // namespace cobblestone
