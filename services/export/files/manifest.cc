#include "services/export/files/manifest.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace cobblestone::exports {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

__int128 CreditFromText(const std::string& text) {
  __int128 credit = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') credit = credit * 10 + (c - '0');
  }
  return text.starts_with('-') ? -credit : credit;
}

RecordHash HashFromText(const std::string& text) {
  if (text.size() != 32) throw std::runtime_error("'records_hash' must have 32 digits");
  return static_cast<RecordHash>(std::strtoull(text.substr(0, 16).c_str(), nullptr, 16)) << 64U |
         std::strtoull(text.substr(16).c_str(), nullptr, 16);
}

// Allows only the name of a file in the manifest's directory, never a path out of it.
std::string CheckedName(const std::string& name) {
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
    throw std::runtime_error("'" + name + "' is not a file name");
  return name;
}

Manifest FromJson(const Json& json) {
  if (json.at("format") != kFormat) throw std::runtime_error("the format is not 1");
  Manifest manifest{.time = json.at("time").get<std::int64_t>(),
                    .source = json.at("source").get<std::string>()};
  if (!json.at("base").is_null()) {
    const Json& base = json["base"];
    manifest.base = {.directory = base.at("directory").get<std::string>(),
                     .manifest_sha256 = base.at("manifest_sha256").get<std::string>(),
                     .time = base.at("time").get<std::int64_t>()};
  }
  for (const Json& output : json.at("outputs")) {
    OutputFigures figures{.name = CheckedName(output.at("name").get<std::string>()),
                          .record = output.at("record").get<std::string>(),
                          .totals = {.records = output.at("records").get<std::uint64_t>(),
                                     .credit = CreditFromText(output.at("total_credit").get<std::string>()),
                                     .hash = HashFromText(output.at("records_hash").get<std::string>())},
                          .changed = output.at("written").get<std::uint64_t>(),
                          .removed = output.at("removed").get<std::uint64_t>(),
                          .removed_file = output.at("removed_file").get<std::string>()};
    if (!figures.removed_file.empty()) CheckedName(figures.removed_file);
    for (const Json& file : output.at("files")) figures.files.push_back(CheckedName(file.get<std::string>()));
    manifest.outputs.push_back(std::move(figures));
  }
  for (const Json& file : json.at("files")) {
    manifest.files.push_back({.name = CheckedName(file.at("name").get<std::string>()),
                              .bytes = file.at("bytes").get<std::uint64_t>(),
                              .sha256 = file.at("sha256").get<std::string>(),
                              .content_bytes = file.at("content_bytes").get<std::uint64_t>(),
                              .records = file.at("records").get<std::uint64_t>()});
  }
  return manifest;
}

Json KindJson(const KindTotals& kind) {
  return {{"accounts", kind.accounts},
          {"opening", CreditText(kind.opening)},
          {"granted", CreditText(kind.granted)},
          {"total", CreditText(kind.total)},
          {"waiting", CreditText(kind.waiting)},
          {"expired", CreditText(kind.expired)},
          {"moving", CreditText(kind.moving)},
          {"exported", {{"accounts", kind.exported.accounts}, {"total", CreditText(kind.exported.total)}}},
          {"withheld",
           {{"accounts", kind.accounts - kind.exported.accounts},
            {"total", CreditText(kind.total - kind.exported.total)}}}};
}

Json LedgerJson(const LedgerTotals& ledger) {
  Json json = {{"project", ledger.project},
               {"event_time", ledger.event_time},
               {"epoch", ledger.epoch},
               {"positions", Json::array()}};
  for (const LedgerPosition& position : ledger.positions)
    json["positions"].push_back(
        {{"commit", position.commit}, {"grants", position.grants}, {"postings", position.postings}});
  json["users"] = KindJson(ledger.users);
  json["teams"] = KindJson(ledger.teams);
  json["hosts"] = KindJson(ledger.hosts);
  return json;
}

}  // namespace

std::string ManifestText(const Manifest& manifest) {
  Json json = {{"format", kFormat}, {"time", manifest.time}, {"source", manifest.source}, {"base", nullptr}};
  if (manifest.base) {
    json["base"] = {{"directory", manifest.base->directory},
                    {"manifest_sha256", manifest.base->manifest_sha256},
                    {"time", manifest.base->time}};
  }
  if (manifest.ledger) json["ledger"] = LedgerJson(*manifest.ledger);
  json["outputs"] = Json::array();
  for (const OutputFigures& output : manifest.outputs) {
    json["outputs"].push_back({{"name", output.name},
                               {"record", output.record},
                               {"records", output.totals.records},
                               {"total_credit", CreditText(output.totals.credit)},
                               {"records_hash", HashText(output.totals.hash)},
                               {"written", output.changed},
                               {"removed", output.removed},
                               {"removed_file", output.removed_file},
                               {"files", output.files}});
  }
  json["files"] = Json::array();
  for (const FileFigures& file : manifest.files) {
    json["files"].push_back({{"name", file.name},
                             {"bytes", file.bytes},
                             {"sha256", file.sha256},
                             {"content_bytes", file.content_bytes},
                             {"records", file.records}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LoadedManifest> LoadManifest(const std::string& directory) {
  const std::string path = directory + "/" + kManifestName;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return Status::NotFound(
        path +
        " cannot be read: the directory is not an export of Cobblestone (an export of BOINC "
        "has no manifest)");
  LoadedManifest loaded;
  Sha256 sum;
  sum.Add(text.str());
  loaded.sha256 = sum.Finish();
  try {
    loaded.manifest = FromJson(Json::parse(text.str()));
  } catch (const std::exception& error) {
    return Status::Corrupted(path + " is corrupted: " + error.what());
  }
  return loaded;
}

}  // namespace cobblestone::exports
