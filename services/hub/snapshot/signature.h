// Ed25519 signatures (RFC 8032) over the manifest of a snapshot.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

// The private key of a hub. Movable; the key is wiped at the end.
class SigningKey {
 public:
  // From a private file (common/base/secret_file.h) with an Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519`
  // writes it. kInvalidArgument: the file must not be used, or holds no such key. `option`: what named the file.
  static Result<SigningKey> Read(std::string_view option, const std::string& path);
  // Makes a key from the system's random numbers and writes it to a new private file, in that form; durable on return.
  // kInvalidArgument: the file exists. kFull, kFatal: it cannot be written.
  static Result<SigningKey> Create(const std::string& path);
  ~SigningKey();
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;

  [[nodiscard]] std::string PublicKey() const;                   // 32 bytes
  [[nodiscard]] std::string Sign(std::string_view bytes) const;  // 64 bytes

 private:
  struct Key;
  explicit SigningKey(std::unique_ptr<Key> key);

  std::unique_ptr<Key> key_;
};

bool IsSignedBy(std::string_view public_key, std::string_view bytes, std::string_view signature);

}  // namespace cobblestone::hub
