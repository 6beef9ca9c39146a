#include "tests/golden/export_variants.h"

#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "services/export/export_job.h"

namespace cobblestone::statistics {

using exports::LoadSpec;
using exports::ParseSettings;
using exports::RunExport;

namespace fs = std::filesystem;
using nlohmann::json;

std::string Data(const std::string& name) {
  return std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/export/" + name;
}

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  EXPECT_TRUE(file && text << file.rdbuf()) << path;
  return text.str();
}

std::string Content(const std::string& path) {
  std::string content;
  char buffer[1 << 14];
  if (path.ends_with(".zip")) {
    zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, nullptr);
    EXPECT_NE(archive, nullptr) << path;
    if (archive == nullptr) return "";
    EXPECT_EQ(zip_get_num_entries(archive, 0), 1);
    EXPECT_EQ(std::string(zip_get_name(archive, 0, 0)) + ".zip", fs::path(path).filename().string());
    zip_file_t* entry = zip_fopen_index(archive, 0, 0);
    for (zip_int64_t n = 0; (n = zip_fread(entry, buffer, sizeof buffer)) > 0;)
      content.append(buffer, static_cast<std::size_t>(n));
    zip_fclose(entry);
    zip_discard(archive);
    return content;
  }
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;)
    content.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  return content;
}

std::vector<std::string> RecordsOf(const std::string& content) {
  const std::size_t root = content.find("\n<", content.starts_with("<?xml") ? content.find("?>") : 0);
  const std::size_t head =
      content.starts_with("<?xml") ? content.find('\n', root + 1) + 1 : content.find('\n') + 1;
  const std::string tag = content.substr(head, content.find('\n', head) - head);
  const std::string close = "\n</" + tag.substr(tag.find('<') + 1) + "\n";
  std::vector<std::string> records = {content.substr(0, head)};
  std::size_t at = head;
  for (std::size_t end = 0; (end = content.find(close, at)) != std::string::npos; at = end + close.size())
    records.push_back(content.substr(at, end + close.size() - at));
  records.push_back(content.substr(at));
  std::sort(records.begin(), records.end());
  return records;
}

void WriteVariant(const std::string& variant, const std::string& spec_path, const OpenRows& open,
                  Published& run) {
  const json golden = json::parse(Bytes(Data("MANIFEST.json")))["variants"][variant];
  const json& settings = golden["settings"];
  std::vector<std::string> assignments;
  for (const char* name : {"user_country", "user_url", "credit_by_app"})
    assignments.push_back(std::string(name) + "=" + (settings[name].get<bool>() ? "1" : "0"));
  assignments.push_back("statsexport_enabled=" + std::to_string(settings["statsexport_enabled"].get<int>()));
  const auto parsed = ParseSettings(assignments);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();

  std::string entities_path = Data("entities.json");
  if (settings["content"] != "entities.json") {
    entities_path = run.dir / "entities.json";
    const json all = json::parse(Bytes(Data("entities.json")));
    std::ofstream(entities_path) << json{{"users", json::array()}, {"consent_types", all["consent_types"]}};
  }
  const auto rows = open(entities_path, *parsed);
  ASSERT_NE(rows, nullptr);
  const auto spec = LoadSpec(spec_path);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto outcome =
      RunExport(*rows, *spec,
                {.settings = *parsed, .now = golden.value("update_time", std::int64_t{1}), .out = run.out});
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
}

void ExpectVariant(const std::string& variant, const OpenRows& open) {
  const std::string golden = Data(variant) + "/";
  Published run;
  ASSERT_NO_FATAL_FAILURE(WriteVariant(variant, golden + "db_dump.xml", open, run));
  const std::string spec = Bytes(golden + "db_dump.xml");
  const bool sorted = spec.find("<sort>") != std::string::npos;
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(golden)) names.insert(entry.path().filename().string());
  std::set<std::string> exported;
  for (const auto& entry : fs::directory_iterator(run.out)) exported.insert(entry.path().filename().string());
  EXPECT_EQ(exported.erase("manifest.json"), 1u);
  EXPECT_EQ(exported, names);
  for (const std::string& name : names) {
    const std::string wanted = Content(golden + name);
    const std::string got = Content(run.out + "/" + name);
    const bool by_php = name.ends_with("_work.gz");
    if (got == wanted) {
      // With the zlib version of BOINC's files, the compressed bytes must be equal too.
      if (name.ends_with(".gz") && !by_php && std::string(zlibVersion()) == "1.2.13") {
        EXPECT_EQ(Bytes(run.out + "/" + name) == Bytes(golden + name), true)
            << name << ": other compressed bytes";
      }
      continue;
    }
    EXPECT_TRUE(by_php || !sorted) << name << " differs, although its order is defined";
    const bool has_records =
        by_php || name.starts_with("user") || name.starts_with("team") || name.starts_with("host");
    if (has_records) {
      EXPECT_EQ(RecordsOf(got), RecordsOf(wanted)) << name;
    } else {
      EXPECT_EQ(got, wanted) << name;
    }
  }
}

}  // namespace cobblestone::statistics
