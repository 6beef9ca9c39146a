// Proofs of account ownership, as BOINC's account_ownership.php issues them: the project signs "USERID TEXT" with its
// RSA key and SHA-512 (PKCS #1 v1.5). The user chooses TEXT; for a hub it is a statement:
//
//   cobblestone joins MASTER_URL USERID       the other account is mine, too
//   cobblestone leaves YYYY-MM-DD             this account stands alone from this day on (kLeave)
//   cobblestone returns YYYY-MM-DD            the last "leaves" is withdrawn
//
// A join needs the opposite statement from the other account. A copied proof is therefore of no use to anybody: it
// repeats what its account has said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/federation/identity/facts.h"

namespace cobblestone::federation {

struct OwnershipProof {
  std::string master_url;  // of the project that signed
  std::string message;     // "USERID TEXT"
  std::string signature;   // base64
};

// Reads the <account_ownership_verification> element that the page shows. kInvalidArgument if a part is missing or
// too long (message: 5,000 bytes, signature: 4,000).
Result<OwnershipProof> ReadOwnershipProof(std::string_view xml);

// kInvalidArgument: no RSA key of 2,048 bits or more in PEM form.
Status CheckOwnershipKey(std::string_view public_key_pem);

// Ok if the project with this public key (PEM) signed the message. kInvalidArgument: the key is no RSA key of 2,048 bits
// or more, or the signature is not base64 or not of this key and message.
Status VerifyOwnershipProof(const OwnershipProof& proof, std::string_view public_key_pem);

enum class StatementKind : std::uint8_t { kJoins, kLeaves, kReturns };

struct OwnerStatement {
  StatementKind kind = StatementKind::kJoins;
  std::uint64_t user = 0;        // who speaks
  std::string other_url;         // kJoins
  std::uint64_t other_user = 0;  // kJoins
  Day day = 0;                   // kLeaves, kReturns
};

// The statement of a verified message. kInvalidArgument: not a statement for a hub.
Result<OwnerStatement> ParseStatement(std::string_view message);

}  // namespace cobblestone::federation
