#include "common/credit/model/catalogue.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cobblestone::credit {

double AppRow::Window() const {
  if (result_window > 0) return result_window;
  return std::max(kDefaultResultWindow, kResultWindowDelayBounds * delay_bound);
}

bool AppVersionRow::IsGpu() const {
  if (resource != Resource::kUnknown) return resource != Resource::kCpu;
  // Golden README, item 25: a plan class that contains one of these words is a GPU plan class.
  static constexpr std::array<std::string_view, 6> kGpuWords = {"cuda", "nvidia",    "ati",
                                                                "amd",  "intel_gpu", "apple_gpu"};
  return std::any_of(kGpuWords.begin(), kGpuWords.end(),
                     [this](std::string_view word) { return plan_class.find(word) != std::string::npos; });
}

const AppRow* Catalogue::FindApp(AppId app) const {
  const auto it = apps.find(app.value);
  return it == apps.end() ? nullptr : &it->second;
}

const AppVersionRow* Catalogue::FindVersion(AppVersionId version) const {
  if (version.value <= 0) return nullptr;
  const auto it = versions.find(static_cast<std::uint64_t>(version.value));
  return it == versions.end() || it->second.deleted ? nullptr : &it->second;
}

}  // namespace cobblestone::credit
