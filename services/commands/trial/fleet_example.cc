#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/commands/command.h"
#include "services/commands/trial/fleet.h"
#include "services/workfetch/example_text.h"
#include "services/workfetch/timeline_svg.h"

namespace cobblestone::commands {
namespace {

struct ExampleOptions {
  std::string example;
  std::string variant;
  std::string svg;
  bool json = false;
};

std::vector<std::string> ExampleIds() {
  std::vector<std::string> ids;
  for (const workfetch::Example& example : workfetch::Examples()) ids.push_back(example.id);
  return ids;
}

std::vector<std::string> VariantNames() {
  std::vector<std::string> names;
  for (const workfetch::Variant variant : workfetch::kVariants) names.emplace_back(NameOf(variant));
  return names;
}

Status WriteFile(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return Status::Ok();
  return Status::Unwritten(
      errno, "cannot write " + path + "; check the directory, the permissions and the free space");
}

int RunExample(const ExampleOptions& options) {
  const workfetch::Example& example = *workfetch::FindExample(options.example);
  std::vector<workfetch::Variant> variants;
  for (const workfetch::Variant variant : workfetch::kVariants)
    if (options.variant.empty() || options.variant == NameOf(variant)) variants.push_back(variant);
  const auto outcomes = workfetch::RunExample(example, variants);
  if (!options.svg.empty()) {
    const Status written = WriteFile(options.svg, workfetch::TimelineSvg(example, outcomes));
    if (!written.ok()) return ReportError(written);
  }
  if (options.json) {
    PrintJson(workfetch::ExampleJson(example, outcomes));
  } else {
    std::fputs(workfetch::ExampleText(example, outcomes).c_str(), stdout);
  }
  return kExitOk;
}

}  // namespace

void AddFleetExample(Program& program, Verb& fleet) {
  AddVerb<ExampleOptions>(
      program, fleet, "example", "Runs a worked example of work fetch on a volunteer's client",
      [](Verb& verb, ExampleOptions& options) {
        verb.Add("N", options.example,
                 "1, 2, 3: the examples of S004; 1a, 2a, 3a: variations; 4: an ordinary host")
            .Required()
            .OneOf(ExampleIds());
        verb.Add("--variant", options.variant, "one rule of work fetch (default: all, side by side)")
            .OneOf(VariantNames());
        verb.Add("--svg", options.svg, "also write a picture: who uses which resource when").Type("FILE");
        verb.Flag("--json", options.json, "print the answer as JSON, with full precision");
        verb.Footer(
            "Simulates one client for months and compares its resource use with the goal; an asterisk marks a\n"
            "share that misses its goal. Rules and examples: docs/work-fetch.md.\n\n"
            "Examples:  cobblestone fleet example 1\n"
            "           cobblestone fleet example 3a --variant seed --svg starved.svg");
      },
      RunExample);
}

}  // namespace cobblestone::commands
