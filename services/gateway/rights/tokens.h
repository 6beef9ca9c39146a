// Tokens and their rights. Tokens come from a file that other users cannot read, or from the environment:
//
//   # ROLE TOKEN; a line each, ';' ends a line, too
//   read       x1Y...
//   volunteer  1/42 q9B...
//   ingest     1,2 results,members server1:k2Z...
//
// A token has at least 16 of the characters that a header may carry (RFC 6750: letters, digits, - . _ ~ + / =). A
// name and ':' may precede the token; tokens with the same name share the sources that belong to the name (Sender).
// Only the SHA-256 of a token is kept. A look-up compares with all digests in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/gateway/rights/ingest_rights.h"

namespace cobblestone::gateway {

// One account of a volunteer.
struct OwnAccount {
  ProjectId project;
  UserId user;
};

// Rights of a request. Without a token: the rights that the settings give to anonymous clients.
struct Rights {
  bool read = false;  // public data
  // Other people's accounts, too, if the settings show accounts to their own users only.
  bool read_all = false;
  std::optional<IngestRights> ingest;
  Sender sender;  // sender of its events; empty without a token
  bool operate = false;
  bool metrics = false;
  std::optional<OwnAccount> own;
  bool trusted = false;            // a token of the project itself: no rate limit
  std::string_view name = "none";  // of the role, for the log
};

class Tokens {
 public:
  // kInvalidArgument: names the line, never its text. `where`: for messages.
  static Result<Tokens> Parse(std::string_view text, std::string_view where);
  // kInvalidArgument: the file cannot be read, or its permissions do not protect a secret (ReadSecretFile).
  static Result<Tokens> Load(const std::string& path);

  // Rights of a token; none if the token is unknown.
  [[nodiscard]] std::optional<Rights> Find(std::string_view token) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    Digest digest{};
    Rights rights;
  };

  static Digest DigestOf(std::string_view token);

  std::vector<Entry> entries_;
};

}  // namespace cobblestone::gateway
