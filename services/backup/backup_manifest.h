// The source of a backup and its files: manifest.json and SHA256SUMS in a backup's directory. SHA256SUMS has the
// checksums of manifest.json and of each file in the manifest, so that each of the two files verifies the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::backup {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kSumsFile = "SHA256SUMS";
inline constexpr const char* kDataFolder = "data";
inline constexpr const char* kConfigurationFolder = "configuration";

struct BackupFile {
  std::string path;  // in the backup: "data/log/db/000012.blob"
  std::uint64_t bytes = 0;
  std::string sha256;
  // Of the copied file; 0: the next backup always copies the file.
  std::uint64_t source_inode = 0;
  std::int64_t source_changed_ns = 0;  // modification time, UNIX ns
  bool linked = false;                 // a hard link to the file of the previous backup
};

struct BackupManifest {
  std::string made_at;  // UTC, "2026-11-26T09:51:00Z"
  std::string backend;  // of the source: "embedded" or "kafka"
  std::string source;   // data directory, or cluster and prefix
  std::uint32_t partitions = 0;
  std::uint64_t commit = 0;                  // last commit of the log
  std::uint64_t records = 0;                 // in the log, over all topics
  std::uint64_t sources = 0;                 // sources whose position the log has
  std::vector<std::uint64_t> state_commits;  // by slot: commits that the state has executed
  std::vector<BackupFile> files;             // ascending by path

  [[nodiscard]] const BackupFile* Find(const std::string& path) const;  // null: not in the backup
  [[nodiscard]] std::uint64_t bytes() const;                            // of all files
};

// Writes both files, synced. kFull, kFatal.
Status WriteManifest(const BackupManifest& manifest, const std::string& directory);

// kNotFound: there is no manifest.json. kCorrupted: one of the two files is missing or changed. kInvalidArgument: a
// newer program wrote the manifest.
Result<BackupManifest> ReadManifest(const std::string& directory);

}  // namespace cobblestone::backup
