#include "services/factors/hub_answer.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "common/federation/plan_class.h"

namespace cobblestone::factors {

using credit::Resource;
using nlohmann::json;

namespace {

constexpr std::size_t kMostFactors = 10'000;
constexpr std::size_t kMostContributions = 10'000;  // of one factor
constexpr std::size_t kLongestName = 1000;          // bytes; a name of an event has at most 1016

// The text of a member; none: missing, no text, or too long.
std::optional<std::string> TextOf(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  auto text = found->get<std::string>();
  return text.size() <= kLongestName ? std::optional(std::move(text)) : std::nullopt;
}

double NumberOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

Status Wrong(const std::string& field) {
  return Status::InvalidArgument("the hub's answer has no usable " + field);
}

Result<HubFactor> ReadFactor(const json& from, Resource resource) {
  HubFactor factor{.resource = resource};
  auto plan_class = TextOf(from, "plan_class");
  if (!plan_class || plan_class->empty()) return Wrong("factors.plan_class");
  factor.plan_class = std::move(*plan_class);
  factor.factor = NumberOf(from, "factor");
  const auto is_default = from.find("is_default");
  factor.is_default = is_default != from.end() && is_default->is_boolean() && is_default->get<bool>();
  const auto list = from.find("contributions");
  if (list == from.end()) return factor;
  if (!list->is_array() || list->size() > kMostContributions) return Wrong("factors.contributions");
  for (const json& one : *list) {
    auto name = one.is_object() ? TextOf(one, "name") : std::nullopt;
    if (!name) return Wrong("factors.contributions.name");
    factor.contributions.push_back(
        {.project = std::move(*name), .weight = NumberOf(one, "weight"), .value = NumberOf(one, "value")});
  }
  return factor;
}

}  // namespace

Result<HubAnswer> ParseHubAnswer(std::string_view text) {
  const json whole = json::parse(text, nullptr, false);
  if (!whole.is_object()) return Status::InvalidArgument("the hub's answer is not a JSON object");
  const auto data = whole.find("data");
  if (data == whole.end() || !data->is_object()) return Wrong("data");
  const json& from = *data;
  HubAnswer answer;
  const auto sequence = from.find("sequence");
  if (sequence == from.end() || !sequence->is_number_unsigned()) return Wrong("sequence");
  answer.sequence = sequence->get<std::uint64_t>();
  answer.as_of = NumberOf(from, "as_of");
  if (!std::isfinite(answer.as_of) || answer.as_of <= 0) return Wrong("as_of");
  const auto list = from.find("factors");
  if (list == from.end() || !list->is_array() || list->size() > kMostFactors) return Wrong("factors");
  std::set<std::pair<std::string, Resource>> seen;
  for (const json& one : *list) {
    const auto name = one.is_object() ? TextOf(one, "resource") : std::nullopt;
    if (!name) return Wrong("factors.resource");
    const Resource resource = federation::ResourceOfName(*name);
    if (resource == Resource::kUnknown || resource == Resource::kCpu) continue;
    auto factor = ReadFactor(one, resource);
    if (!factor.ok()) return factor.status();
    if (!seen.emplace(factor->plan_class, factor->resource).second)
      return Status::InvalidArgument("the hub's answer has two factors for plan class " + factor->plan_class);
    answer.factors.push_back(std::move(*factor));
  }
  return answer;
}

}  // namespace cobblestone::factors
