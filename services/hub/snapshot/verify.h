// Verifies a snapshot offline: every file, hash, order and sum, the signature, and the chain to the snapshot before.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/hub/snapshot/manifest.h"

namespace cobblestone::hub {

struct VerifyOptions {
  std::string previous;  // directory of the snapshot before, or empty
  std::string key;       // the public key that must have signed, 32 bytes, or empty: any
};

struct Verdict {
  Manifest manifest;
  Hash sha256;                        // of manifest.json
  std::vector<std::string> problems;  // empty: the snapshot is intact; each names the file
  bool chain_checked = false;         // `previous` was read
};

// kNotFound: there is no such directory or no manifest in it. kInvalidArgument: the manifest is malformed, so that nothing
// can be verified. kFatal: a file cannot be read. Everything else is a problem of the verdict.
Result<Verdict> VerifySnapshot(const std::string& directory, const VerifyOptions& options);

// The problems of `next` as the successor of `before`; `sha256`: of the manifest before. A manifest under another key must
// name the key before as the one that it continues. Whether the new operator is trusted is for the reader to decide.
std::vector<std::string> ProblemsOfChain(const Manifest& next, const Manifest& before, const Hash& sha256);

}  // namespace cobblestone::hub
