#include "common/workfetch/client.h"

namespace cobblestone::workfetch {

std::string_view NameOf(Variant variant) {
  switch (variant) {
    case Variant::kSeed: return "seed";
    case Variant::kRec: return "rec";
    case Variant::kHybrid: break;
  }
  return "hybrid";
}

double Client::total_speed() const {
  double total = 0;
  for (const Resource& resource : resources) total += resource.instances * resource.speed;
  return total;
}

}  // namespace cobblestone::workfetch
