#include "services/hub/collector/feed_state.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/wire/int128_fields.h"
#include "services/hub/collector/replace_file.h"

namespace cobblestone::hub {

using nlohmann::json;

namespace {

json HashJson(const stream::Hash128& hash) { return json::array({hash.low, hash.high}); }
stream::Hash128 HashOf(const json& j) {
  return {.low = j.at(0).get<std::uint64_t>(), .high = j.at(1).get<std::uint64_t>()};
}

json MemoryJson(const KindMemory& memory) {
  json j = json::object();
  if (memory.accepted) {
    const FileSummary& sum = memory.accepted->summary;
    j["accepted"] = {{"records", sum.records},
                     {"total", {wire::LowHalf(sum.total_credit), wire::HighHalf(sum.total_credit)}},
                     {"largest_credit", sum.largest_credit},
                     {"largest_id", sum.largest_id},
                     {"contents", HashJson(sum.contents)},
                     {"bytes", sum.bytes},
                     {"update_time", memory.accepted->update_time}};
    if (memory.accepted->announced) j["accepted"]["announced"] = *memory.accepted->announced;
  }
  if (memory.held)
    j["held"] = {{"contents", HashJson(memory.held->contents)}, {"fetched", memory.held->fetched}};
  if (memory.released) j["released"] = HashJson(*memory.released);
  return j;
}

KindMemory MemoryOf(RecordKind kind, const json& j) {
  KindMemory memory;
  if (j.contains("accepted")) {
    const json& accepted = j.at("accepted");
    memory.accepted = AcceptedFile{
        .summary = {.kind = kind,
                    .records = accepted.at("records").get<std::uint64_t>(),
                    .total_credit = wire::JoinHalves(accepted.at("total").at(0).get<std::int64_t>(),
                                                     accepted.at("total").at(1).get<std::int64_t>()),
                    .largest_credit = accepted.at("largest_credit").get<std::int64_t>(),
                    .largest_id = accepted.at("largest_id").get<std::uint64_t>(),
                    .contents = HashOf(accepted.at("contents")),
                    .bytes = accepted.at("bytes").get<std::uint64_t>()},
        .update_time = accepted.at("update_time").get<std::uint64_t>()};
    if (accepted.contains("announced"))
      memory.accepted->announced = accepted.at("announced").get<std::uint64_t>();
  }
  if (j.contains("held"))
    memory.held = HeldFetch{.contents = HashOf(j.at("held").at("contents")),
                            .fetched = j.at("held").at("fetched").get<double>()};
  if (j.contains("released")) memory.released = HashOf(j.at("released"));
  return memory;
}

}  // namespace

Result<FeedState> LoadFeedState(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FeedState();
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const json j = json::parse(text);
    FeedState state{.edition = j.at("edition").get<std::uint64_t>(),
                    .sending = j.at("sending").get<bool>(),
                    .sending_accepted = j.at("sending_accepted").get<bool>(),
                    .held_reason = j.at("held_reason").get<std::string>(),
                    .held_since = j.at("held_since").get<double>(),
                    .failing_since = j.value("failing_since", 0.0),
                    .repeat = j.value("repeat", false),
                    .facts_file = j.at("facts_file").get<std::string>(),
                    .facts_since = j.at("facts_since").get<double>(),
                    .facts_bytes = j.at("facts_bytes").get<std::uint64_t>(),
                    .last_fact = j.at("last_fact").get<std::uint64_t>(),
                    .last_facts = j.at("last_facts").get<std::map<std::string, std::uint64_t>>()};
    for (std::size_t n = 0; n < kRecordKinds.size(); ++n) {
      state.memory[n] = MemoryOf(kRecordKinds[n], j.at("memory").at(n));
      state.next_memory[n] = MemoryOf(kRecordKinds[n], j.at("next_memory").at(n));
    }
    if (j.contains("refused_from")) state.refused_from = j.at("refused_from").get<std::uint64_t>();
    const json& history = j.at("history");
    state.history = {.last_attempt = history.at("last_attempt").get<double>(),
                     .last_success = history.at("last_success").get<double>(),
                     .failures = history.at("failures").get<std::uint32_t>(),
                     .retry_after = history.at("retry_after").get<double>(),
                     .confirm_at = history.at("confirm_at").get<double>()};
    return state;
  } catch (const json::exception& e) {
    return Status::Corrupted(path + " cannot be read: " + e.what() +
                             ". Delete the directory that it is in: the next edition is sent whole then");
  }
}

Status SaveFeedState(const std::string& path, const FeedState& state) {
  json j{{"edition", state.edition},
         {"sending", state.sending},
         {"sending_accepted", state.sending_accepted},
         {"held_reason", state.held_reason},
         {"held_since", state.held_since},
         {"failing_since", state.failing_since},
         {"repeat", state.repeat},
         {"facts_file", state.facts_file},
         {"facts_since", state.facts_since},
         {"facts_bytes", state.facts_bytes},
         {"last_fact", state.last_fact},
         {"last_facts", state.last_facts},
         {"memory", json::array()},
         {"next_memory", json::array()},
         {"history",
          {{"last_attempt", state.history.last_attempt},
           {"last_success", state.history.last_success},
           {"failures", state.history.failures},
           {"retry_after", state.history.retry_after},
           {"confirm_at", state.history.confirm_at}}}};
  if (state.refused_from) j["refused_from"] = *state.refused_from;
  for (const KindMemory& memory : state.memory) j["memory"].push_back(MemoryJson(memory));
  for (const KindMemory& memory : state.next_memory) j["next_memory"].push_back(MemoryJson(memory));
  return ReplaceFile(path, j.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace cobblestone::hub
