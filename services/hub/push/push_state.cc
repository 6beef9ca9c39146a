#include "services/hub/push/push_state.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "services/hub/collector/replace_file.h"

namespace cobblestone::hub {

using nlohmann::json;

Result<PushState> LoadPushState(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return PushState();
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const json j = json::parse(text);
    return PushState{.edition = j.at("edition").get<std::uint64_t>(),
                     .accepted = j.at("accepted").get<std::uint64_t>(),
                     .accepted_time = j.at("accepted_time").get<double>(),
                     .last_time = j.at("last_time").get<double>(),
                     .facts = j.at("facts").get<std::map<std::string, std::uint64_t>>(),
                     .sending = j.at("sending").get<bool>(),
                     .attempt = j.at("attempt").get<std::uint32_t>(),
                     .made_time = j.at("made_time").get<double>(),
                     .next_facts = j.at("next_facts").get<std::map<std::string, std::uint64_t>>()};
  } catch (const json::exception& e) {
    return Status::Corrupted(path + " cannot be read: " + e.what());
  }
}

Status SavePushState(const std::string& path, const PushState& state) {
  const json j{
      {"edition", state.edition},     {"accepted", state.accepted},   {"accepted_time", state.accepted_time},
      {"last_time", state.last_time}, {"facts", state.facts},         {"sending", state.sending},
      {"attempt", state.attempt},     {"made_time", state.made_time}, {"next_facts", state.next_facts}};
  return ReplaceFile(path, j.dump(1) + "\n");
}

}  // namespace cobblestone::hub
