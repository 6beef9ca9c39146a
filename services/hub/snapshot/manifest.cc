#include "services/hub/snapshot/manifest.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "services/hub/snapshot/canonical_text.h"

namespace cobblestone::hub {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "cobblestone-hub-snapshot";
constexpr int kVersion = 1;
constexpr std::size_t kLongestKey = 40;
constexpr std::size_t kPublicKeyBytes = 32;
constexpr std::uint64_t kLargestInteger = (std::uint64_t{1} << 53) - 1;  // that JSON readers keep exactly

Status Malformed(const std::string& what) {
  return Status::InvalidArgument("the manifest is malformed: " + what);
}

// ---- Checks ----------------------------------------------------------------------------------------------

bool IsProjectKey(std::string_view key) {
  return !key.empty() && key.size() <= kLongestKey && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Status CheckProject(const Project& project, const std::string& date) {
  const std::string where = "project " + project.key + ": ";
  if (!IsProjectKey(project.key))
    return Malformed("a project needs a key of at most 40 characters of a-z, 0-9 and -, not '" + project.key +
                     "'");
  for (const std::string* text : {&project.url, &project.name, &project.why}) {
    if (!IsUtf8(*text)) return Malformed(where + "a text is not UTF-8");
  }
  if (!IsDate(project.since)) return Malformed(where + "'since' is no date");
  if (project.state == ProjectState::kFresh && project.since != date)
    return Malformed(where + "a fresh project has records of another day");
  if (project.since > date) return Malformed(where + "'since' is after the snapshot");
  if (project.state == ProjectState::kUnknown && !project.parts.empty())
    return Malformed(where + "an unknown project has records");
  for (std::size_t i = 0; i < project.parts.size(); ++i) {
    const Part& part = project.parts[i];
    if (i > 0 && part.kind <= project.parts[i - 1].kind) return Malformed(where + "parts are out of order");
    if (part.sha256.size() != 32 || part.tree.size() != 32) return Malformed(where + "a hash is malformed");
    if (part.records > kLargestInteger || part.bytes > kLargestInteger)
      return Malformed(where + "a number is too large");
  }
  return Status::Ok();
}

Status CheckManifest(const Manifest& manifest) {
  if (manifest.key.size() != kPublicKeyBytes) return Malformed("the key is not 32 bytes");
  if (!IsDate(manifest.date)) return Malformed("'date' is no date");
  if (!IsUtf8(manifest.hub) || !IsUtf8(manifest.consent)) return Malformed("a text is not UTF-8");
  if (manifest.sequence == 0 || manifest.sequence > kLargestInteger)
    return Malformed("the sequence is out of range");
  const std::uint64_t before = manifest.previous ? manifest.previous->sequence : 0;
  if (manifest.sequence != before + 1)
    return Malformed("its sequence is " + std::to_string(manifest.sequence) + ", but the one before is " +
                     std::to_string(before));
  if (manifest.previous && (before == 0 || manifest.previous->sha256.size() != 32))
    return Malformed("the previous manifest is malformed");
  if (manifest.continues) {
    if (!manifest.previous) return Malformed("it continues a chain but has no previous manifest");
    if (manifest.continues->key.size() != kPublicKeyBytes || !IsUtf8(manifest.continues->statement))
      return Malformed("the continuation is malformed");
    if (manifest.continues->key == manifest.key) return Malformed("it continues a chain of its own key");
  }
  for (std::size_t i = 0; i < manifest.projects.size(); ++i) {
    if (Status s = CheckProject(manifest.projects[i], manifest.date); !s.ok()) return s;
    if (i > 0 && manifest.projects[i].key <= manifest.projects[i - 1].key)
      return Malformed("projects are out of order");
  }
  return Status::Ok();
}

// ---- Rendering -------------------------------------------------------------------------------------------

json JsonOf(const Project& project) {
  json parts = json::array();
  for (const Part& part : project.parts)
    parts.push_back({{"kind", NameOf(part.kind)},
                     {"file", FileNameOf(project, part.kind)},
                     {"records", part.records},
                     {"bytes", part.bytes},
                     {"sha256", ToHex(part.sha256)},
                     {"tree", ToHex(part.tree)},
                     {"total_micro", MicroText(part.total)}});
  json all{{"key", project.key},
           {"url", project.url},
           {"name", project.name},
           {"state", NameOf(project.state)},
           {"since", project.since},
           {"why", project.why},
           {"not_shown",
            {{"users", project.not_shown.users}, {"total_micro", MicroText(project.not_shown.total)}}},
           {"parts", parts}};
  if (project.account_manager) all["account_manager"] = true;
  return all;
}

json ContentJson(const Manifest& manifest) {
  json projects = json::array();
  for (const Project& project : manifest.projects) projects.push_back(JsonOf(project));
  return {{"date", manifest.date}, {"consent", manifest.consent}, {"projects", projects}};
}

json JsonOf(const Manifest& manifest) {
  json all = ContentJson(manifest);
  all["content"] = ToHex(ContentOf(manifest));
  all["format"] = kFormat;
  all["version"] = kVersion;
  all["hub"] = manifest.hub;
  all["key"] = ToHex(manifest.key);
  all["sequence"] = manifest.sequence;
  all["previous"] = nullptr;
  all["continues"] = nullptr;
  if (manifest.previous)
    all["previous"] = {{"sequence", manifest.previous->sequence},
                       {"sha256", ToHex(manifest.previous->sha256)}};
  if (manifest.continues)
    all["continues"] = {{"key", ToHex(manifest.continues->key)},
                        {"statement", manifest.continues->statement}};
  return all;
}

// ---- Parsing ---------------------------------------------------------------------------------------------
// Throws json::exception for missing members and wrong types. What these functions read loosely, the comparison of the
// rendered manifest with the bytes finds.

MicroSum ReadMicro(const std::string& text) {
  MicroSum value = 0;
  const bool negative = text.starts_with('-');
  for (std::size_t i = negative ? 1 : 0; i < text.size() && i < 38; ++i)
    value = value * 10 + (negative ? '0' - text[i] : text[i] - '0');
  return value;
}

template <class Value, std::size_t N>
Value ReadName(const std::string& name, const Value (&values)[N]) {
  for (const Value value : values) {
    if (NameOf(value) == name) return value;
  }
  return values[0];
}

Project ReadProject(const json& from) {
  static constexpr ProjectState kStates[] = {ProjectState::kFresh, ProjectState::kStale,
                                             ProjectState::kUnknown, ProjectState::kHeld};
  Project project{.key = from.at("key").get<std::string>(),
                  .url = from.at("url").get<std::string>(),
                  .name = from.at("name").get<std::string>(),
                  .state = ReadName(from.at("state").get<std::string>(), kStates),
                  .since = from.at("since").get<std::string>(),
                  .why = from.at("why").get<std::string>(),
                  .account_manager = from.value("account_manager", false)};
  const json& not_shown = from.at("not_shown");
  project.not_shown = {.users = not_shown.at("users").get<std::uint64_t>(),
                       .total = ReadMicro(not_shown.at("total_micro").get<std::string>())};
  for (const json& part : from.at("parts"))
    project.parts.push_back({.kind = ReadName(part.at("kind").get<std::string>(), kPartKinds),
                             .records = part.at("records").get<std::uint64_t>(),
                             .bytes = part.at("bytes").get<std::uint64_t>(),
                             .sha256 = FromHex(part.at("sha256").get<std::string>()),
                             .tree = FromHex(part.at("tree").get<std::string>()),
                             .total = ReadMicro(part.at("total_micro").get<std::string>())});
  return project;
}

Manifest ReadManifest(const json& from) {
  Manifest manifest{.hub = from.at("hub").get<std::string>(),
                    .key = FromHex(from.at("key").get<std::string>()),
                    .sequence = from.at("sequence").get<std::uint64_t>(),
                    .date = from.at("date").get<std::string>(),
                    .consent = from.at("consent").get<std::string>()};
  if (const json& previous = from.at("previous"); !previous.is_null())
    manifest.previous = {.sequence = previous.at("sequence").get<std::uint64_t>(),
                         .sha256 = FromHex(previous.at("sha256").get<std::string>())};
  if (const json& continues = from.at("continues"); !continues.is_null())
    manifest.continues = {.key = FromHex(continues.at("key").get<std::string>()),
                          .statement = continues.at("statement").get<std::string>()};
  for (const json& project : from.at("projects")) manifest.projects.push_back(ReadProject(project));
  return manifest;
}

}  // namespace

bool IsDate(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 4 || i == 7;
    if (hyphen ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  return true;
}

std::string_view NameOf(ProjectState state) {
  switch (state) {
    case ProjectState::kFresh: return "fresh";
    case ProjectState::kStale: return "stale";
    case ProjectState::kUnknown: return "unknown";
    case ProjectState::kHeld: return "held";
  }
  return "";
}

std::string FileNameOf(const Project& project, PartKind kind) {
  return project.key + "." + std::string(NameOf(kind)) + ".jsonl";
}

Hash ContentOf(const Manifest& manifest) { return Sha256Of(ContentJson(manifest).dump()); }

Result<std::string> RenderManifest(const Manifest& manifest) {
  if (Status s = CheckManifest(manifest); !s.ok()) return s;
  std::string bytes = JsonOf(manifest).dump() + "\n";
  if (bytes.size() > kLargestManifest) return Malformed("it is larger than 16 MiB");
  return bytes;
}

Result<Manifest> ParseManifest(std::string_view bytes) {
  const json parsed = json::parse(bytes, nullptr, false);
  if (parsed.is_discarded()) return Malformed("it is not JSON");
  try {
    if (parsed.at("format") != kFormat) return Malformed("it has another format");
    // dump() recurses, so a version of a million brackets would exhaust the stack.
    if (parsed.at("version") != kVersion)
      return Malformed(parsed.at("version").is_number() ? "its version is " + parsed.at("version").dump() +
                                                              "; this program reads version 1"
                                                        : "its version is no number");
    Manifest manifest = ReadManifest(parsed);
    const auto again = RenderManifest(manifest);
    if (!again.ok()) return again.status();
    if (*again != bytes) return Malformed("it is not canonical, or its content hash is wrong");
    return manifest;
  } catch (const json::exception& error) {
    return Malformed(error.what());
  }
}

}  // namespace cobblestone::hub
