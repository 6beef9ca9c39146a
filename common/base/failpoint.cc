#include "common/base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace cobblestone {
namespace {

struct Armed {
  std::string name;
  std::atomic<long> left{0};
};

Armed& TheArmed() {
  static Armed armed;
  return armed;
}

bool ArmFromEnvironment() {
  const char* text = std::getenv("COBBLESTONE_FAILPOINT");
  if (text != nullptr) ArmFailpoint(text);
  return text != nullptr;
}

}  // namespace

bool failpoints_armed = ArmFromEnvironment();

void ArmFailpoint(std::string_view spec) {
  const auto colon = spec.find(':');
  TheArmed().name = spec.substr(0, colon);
  TheArmed().left =
      colon == std::string_view::npos ? 1 : std::atol(std::string(spec.substr(colon + 1)).c_str());
  failpoints_armed = true;
}

void FailpointHit(std::string_view name) {
  Armed& armed = TheArmed();
  if (name != armed.name) return;
  if (armed.left.fetch_sub(1) == 1) ::kill(::getpid(), SIGKILL);
}

}  // namespace cobblestone
