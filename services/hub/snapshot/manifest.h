// The manifest of a snapshot: manifest.json, canonical JSON (RFC 8785) and one line break. It names every other file with
// its hashes, and the manifest before it (docs/design/snapshot.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/hub/snapshot/hash_tree.h"
#include "services/hub/snapshot/records.h"

namespace cobblestone::hub {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kSignatureFile = "manifest.sig";
inline constexpr std::size_t kLargestManifest = 16u << 20;

enum class ProjectState : std::uint8_t {
  kFresh,    // the records are of the day of the snapshot
  kStale,    // the last accepted records are older: of `since`
  kUnknown,  // no records were ever accepted, or none since `since`; the part files are missing
  kHeld,     // newer records wait for an operator; those here are of `since`
};
std::string_view NameOf(ProjectState state);

struct Part {
  PartKind kind = PartKind::kUsers;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Hash sha256;         // of the file
  Hash tree;           // root of the hash tree over its lines
  MicroSum total = 0;  // of all records
};

// Why not all records are shown: their credit still adds up (consent of users, deletions).
struct NotShown {
  std::uint64_t users = 0;
  MicroSum total = 0;

  friend bool operator==(const NotShown&, const NotShown&) = default;
};

struct Project {
  std::string key;   // [a-z0-9-], at most 40: part of file names; the same at every hub
  std::string url;   // master URL
  std::string name;  // for people
  ProjectState state = ProjectState::kFresh;
  std::string since;  // YYYY-MM-DD; the date of the snapshot if kFresh
  std::string why;    // for kStale, kUnknown and kHeld, or empty
  NotShown not_shown;
  bool account_manager = false;  // its credit is in the parts of other projects as well
  std::vector<Part> parts;       // by kind, each at most once
};

// "2026-11-27". The form; not whether the month has that day.
bool IsDate(std::string_view text);

std::string FileNameOf(const Project& project, PartKind kind);  // "KEY.users.jsonl"

// The manifest before.
struct Previous {
  std::uint64_t sequence = 0;
  Hash sha256;  // of its manifest.json

  friend bool operator==(const Previous&, const Previous&) = default;
};

// The first manifest under another key names the key of the chain that it continues.
struct Continuation {
  std::string key;        // public key of the manifest before, 32 bytes
  std::string statement;  // why, for people

  friend bool operator==(const Continuation&, const Continuation&) = default;
};

struct Manifest {
  std::string hub;  // URL or name of the operator
  std::string key;  // Ed25519 public key, 32 bytes
  std::uint64_t sequence = 1;
  std::string date;                  // YYYY-MM-DD, UTC
  std::optional<Previous> previous;  // nothing: the first of its chain
  std::optional<Continuation> continues;
  std::string consent;            // the statement about consent that the records were published under
  std::vector<Project> projects;  // by key
};

// SHA-256 over what two hubs with the same inputs have in common: date, consent and projects, as canonical JSON.
Hash ContentOf(const Manifest& manifest);

// The bytes of manifest.json. kInvalidArgument: the manifest contradicts itself (see ParseManifest).
Result<std::string> RenderManifest(const Manifest& manifest);
// kInvalidArgument, with the reason: not the canonical form, an unknown format, projects or parts out of order or twice,
// a malformed key, date or hash, a sequence that does not follow from `previous`, a fresh project of another day, a
// continuation without a previous manifest.
Result<Manifest> ParseManifest(std::string_view bytes);

}  // namespace cobblestone::hub
