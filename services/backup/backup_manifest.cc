#include "services/backup/backup_manifest.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "services/backup/copy_file.h"
#include "services/export/files/digest.h"

namespace cobblestone::backup {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

std::string TextOf(const BackupManifest& manifest) {
  json files = json::array();
  for (const BackupFile& file : manifest.files)
    files.push_back({{"path", file.path},
                     {"bytes", file.bytes},
                     {"sha256", file.sha256},
                     {"source_inode", file.source_inode},
                     {"source_changed_ns", file.source_changed_ns},
                     {"linked", file.linked}});
  const json all = {{"format", kFormat},
                    {"made_at", manifest.made_at},
                    {"backend", manifest.backend},
                    {"source", manifest.source},
                    {"partitions", manifest.partitions},
                    {"commit", manifest.commit},
                    {"records", manifest.records},
                    {"sources", manifest.sources},
                    {"state_commits", manifest.state_commits},
                    {"files", std::move(files)}};
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string SumOfManifest(const std::string& text) {
  exports::Sha256 sum;
  sum.Add(text);
  return sum.Finish() + "  " + kManifestFile + "\n";
}

// As sha256sum(1) writes and reads it.
std::string SumsOf(const BackupManifest& manifest, const std::string& text) {
  std::string sums = SumOfManifest(text);
  for (const BackupFile& file : manifest.files) sums += file.sha256 + "  " + file.path + "\n";
  return sums;
}

Result<std::string> Text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status::NotFound("there is no " + path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return Status::Fatal("cannot read " + path + "; check the disk");
  return text;
}

// Nothing outside of the backup is read or written, whatever the manifest says.
bool StaysWithin(const std::string& path) {
  return !path.empty() && path.front() != '/' && path.find('\n') == std::string::npos &&
         ("/" + path + "/").find("/../") == std::string::npos;
}

Status Changed(const std::string& what) {
  return Status::Corrupted(what + "; restore another backup, and delete this one");
}

}  // namespace

const BackupFile* BackupManifest::Find(const std::string& path) const {
  const auto found =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const BackupFile& file, const std::string& wanted) { return file.path < wanted; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

std::uint64_t BackupManifest::bytes() const {
  std::uint64_t all = 0;
  for (const BackupFile& file : files) all += file.bytes;
  return all;
}

Status WriteManifest(const BackupManifest& manifest, const std::string& directory) {
  const std::string text = TextOf(manifest);
  if (const auto made = WriteFile(text, directory + "/" + kManifestFile); !made.ok()) return made.status();
  return WriteFile(SumsOf(manifest, text), directory + "/" + kSumsFile).status();
}

Result<BackupManifest> ReadManifest(const std::string& directory) {
  const std::string path = directory + "/" + kManifestFile;
  const auto text = Text(path);
  if (!text.ok()) return text.status();
  const auto sums = Text(directory + "/" + kSumsFile);
  if (!sums.ok()) return Changed(directory + " is damaged: its file " + kSumsFile + " is missing");
  const Status differ =
      Changed(path + " and " + kSumsFile + " beside it do not agree: one of them was changed");
  if (!sums->starts_with(SumOfManifest(*text))) return differ;
  const json all = json::parse(*text, nullptr, false);
  if (all.is_discarded() || !all.is_object()) return Changed(path + " is damaged: it is no JSON");
  BackupManifest manifest;
  try {
    if (all.at("format").get<int>() != kFormat)
      return Status::InvalidArgument(path + " has format " + all.at("format").dump() +
                                     ", this program knows " + std::to_string(kFormat) +
                                     "; use the program that made the backup");
    manifest.made_at = all.at("made_at").get<std::string>();
    manifest.backend = all.at("backend").get<std::string>();
    manifest.source = all.at("source").get<std::string>();
    manifest.partitions = all.at("partitions").get<std::uint32_t>();
    manifest.commit = all.at("commit").get<std::uint64_t>();
    manifest.records = all.at("records").get<std::uint64_t>();
    manifest.sources = all.at("sources").get<std::uint64_t>();
    manifest.state_commits = all.at("state_commits").get<std::vector<std::uint64_t>>();
    for (const json& file : all.at("files"))
      manifest.files.push_back({.path = file.at("path").get<std::string>(),
                                .bytes = file.at("bytes").get<std::uint64_t>(),
                                .sha256 = file.at("sha256").get<std::string>(),
                                .source_inode = file.at("source_inode").get<std::uint64_t>(),
                                .source_changed_ns = file.at("source_changed_ns").get<std::int64_t>(),
                                .linked = file.at("linked").get<bool>()});
  } catch (const json::exception& error) {
    return Changed(path + " is damaged: " + error.what());
  }
  if (SumsOf(manifest, *text) != *sums) return differ;
  for (const BackupFile& file : manifest.files)
    if (!StaysWithin(file.path)) return Changed(path + " names a file outside of the backup");
  return manifest;
}

}  // namespace cobblestone::backup
