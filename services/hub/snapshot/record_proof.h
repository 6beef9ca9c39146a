// Proves that a record is in a snapshot. The reader of the proof needs the signed manifest and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/hub/snapshot/manifest.h"

namespace cobblestone::hub {

struct RecordProof {
  std::string project;  // key
  PartKind kind = PartKind::kUsers;
  std::uint64_t index = 0;  // of the line, from 0
  std::uint64_t records = 0;
  std::string line;
  std::vector<Hash> path;  // HashTree::Path
};

// Reads the part once. kNotFound: the snapshot has no such record. Otherwise as ReadLines; does not verify the part.
Result<RecordProof> ProveRecord(const std::string& directory, const std::string& project, PartKind kind,
                                std::uint64_t id);

// Ok if the line is in the part. The caller has checked the signature of the manifest. kInvalidArgument: it is not.
Status CheckRecordProof(const RecordProof& proof, const Manifest& manifest);

// As JSON, for a web server and its readers. kInvalidArgument: not a proof.
std::string RenderRecordProof(const RecordProof& proof);
Result<RecordProof> ParseRecordProof(std::string_view text);

}  // namespace cobblestone::hub
