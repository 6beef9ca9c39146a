#include "common/federation/plan_class.h"

#include <string>

namespace cobblestone::federation {

using credit::Resource;

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordCharacter(char c) { return (c >= 'a' && c <= 'z') || IsDigit(c); }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// "ati", "ati13", "ati13amd", but not "atime".
bool IsVendorWithDigits(std::string_view word, std::string_view vendor) {
  return word.starts_with(vendor) && (word.size() == vendor.size() || IsDigit(word[vendor.size()]));
}

Resource ResourceOfWord(std::string_view word, std::string_view before) {
  if (word.starts_with("cuda") || word.starts_with("nvidia")) return Resource::kNvidia;
  if (IsVendorWithDigits(word, "ati") || (IsVendorWithDigits(word, "amd") && word != "amd64"))
    return Resource::kAmd;
  if (word == "gpu" && before == "intel") return Resource::kIntelGpu;
  if (word == "gpu" && before == "apple") return Resource::kAppleGpu;
  return Resource::kCpu;
}

}  // namespace

Resource ResourceOfPlanClass(std::string_view plan_class) {
  const std::string name = LowerCase(plan_class);
  std::string_view rest = name;
  std::string_view before;
  Resource found = Resource::kCpu;
  while (!rest.empty()) {
    std::size_t end = 0;
    while (end < rest.size() && IsWordCharacter(rest[end])) ++end;
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end < rest.size() ? end + 1 : end);
    if (word.empty()) continue;
    const Resource resource = ResourceOfWord(word, before);
    if (resource != Resource::kCpu) return resource;
    if (word.ends_with("opencl")) found = Resource::kUnknown;
    before = word;
  }
  return found;
}

std::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kCpu: return "cpu";
    case Resource::kNvidia: return "nvidia";
    case Resource::kAmd: return "amd";
    case Resource::kIntelGpu: return "intel_gpu";
    case Resource::kAppleGpu: return "apple_gpu";
    case Resource::kUnknown: break;
  }
  return "unknown";
}

Resource ResourceOfName(std::string_view name) {
  for (const Resource resource :
       {Resource::kCpu, Resource::kNvidia, Resource::kAmd, Resource::kIntelGpu, Resource::kAppleGpu})
    if (ResourceName(resource) == name) return resource;
  return Resource::kUnknown;
}

}  // namespace cobblestone::federation
