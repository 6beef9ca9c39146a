// What happened in an example of work fetch, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/workfetch/examples.h"

namespace cobblestone::workfetch {

struct VariantOutcome {
  Variant variant = Variant::kHybrid;
  Outcome outcome;
};

// Nothing if there is no such example.
const Example* FindExample(std::string_view id);
std::vector<VariantOutcome> RunExample(const Example& example, const std::vector<Variant>& variants);

// Shares beside their goals and the five metrics, one column per variant. An asterisk marks a share that misses its goal.
std::string ExampleText(const Example& example, const std::vector<VariantOutcome>& outcomes);
nlohmann::json ExampleJson(const Example& example, const std::vector<VariantOutcome>& outcomes);

}  // namespace cobblestone::workfetch
