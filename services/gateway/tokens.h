// Who asks, and what they may do. Tokens come from a file that others cannot read, or from the environment:
//
//   # ROLE TOKEN; a line each, ';' ends a line, too
//   read       x1Y...
//   volunteer  1/42 q9B...
//   ingest     1,2 results,members server1:k2Z...
//
// A token is 16 characters or more of those that a header may carry (RFC 6750: letters, digits, - . _ ~ + / =). A name and
// ':' may stand in front of it: several tokens may share a name, and with it the sources that belong to it (Sender). What is
// kept of a token is its SHA-256; a look-up compares with all of them, in a time that does not depend on where they differ.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/gateway/ingest_rights.h"

namespace cobblestone::gateway {

// One account of a volunteer.
struct OwnAccount {
  ProjectId project;
  UserId user;
};

// What a request may do. Without a token: what the settings give to strangers.
struct Rights {
  bool read = false;      // what is public
  bool read_all = false;  // other people's accounts, too, where the settings show them to their users alone
  std::optional<IngestRights> ingest;
  Sender sender;  // as which it sends; empty without a token
  bool operate = false;
  bool metrics = false;
  std::optional<OwnAccount> own;
  bool trusted = false;            // a token of the project itself: no limit of rate
  std::string_view name = "none";  // of the role, for the log
};

class Tokens {
 public:
  // kInvalidArgument: the line, never what stands on it. `where` is for messages.
  static Result<Tokens> Parse(std::string_view text, std::string_view where);
  // kInvalidArgument: it cannot be read, or it is no file for a secret (ReadSecretFile).
  static Result<Tokens> Load(const std::string& path);

  // Rights of a token; none where it is not known.
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
