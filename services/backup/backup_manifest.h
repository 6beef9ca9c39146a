// What a backup is of, and its files: manifest.json and SHA256SUMS of a backup's directory. SHA256SUMS has the checksum
// of manifest.json and of each file that the manifest names, so that each of the two files proves the other.
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
  // Of the file that was copied; 0: it is never taken for unchanged.
  std::uint64_t source_inode = 0;
  std::int64_t source_changed_ns = 0;  // time of the last change of its bytes, UNIX ns
  bool linked = false;                 // to the file of the backup before
};

struct BackupManifest {
  std::string made_at;  // UTC, "2026-11-26T09:51:00Z"
  std::string backend;  // that the backup was made of: "embedded" or "kafka"
  std::string source;   // data directory, or cluster and prefix
  std::uint32_t partitions = 0;
  std::uint64_t commit = 0;                  // of the log
  std::uint64_t records = 0;                 // that the log holds, over all topics
  std::uint64_t sources = 0;                 // whose position the log has
  std::vector<std::uint64_t> state_commits;  // by slot: commits that the state has executed
  std::vector<BackupFile> files;             // ascending by path

  [[nodiscard]] const BackupFile* Find(const std::string& path) const;  // null: there is none
  [[nodiscard]] std::uint64_t bytes() const;                            // of all files
};

// Writes both files, synced. kFull, kFatal.
Status WriteManifest(const BackupManifest& manifest, const std::string& directory);

// kNotFound: there is no manifest.json. kCorrupted: one of the two files is missing or changed. kInvalidArgument: a
// newer program wrote it.
Result<BackupManifest> ReadManifest(const std::string& directory);

}  // namespace cobblestone::backup
