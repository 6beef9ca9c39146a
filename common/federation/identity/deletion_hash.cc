#include "common/federation/identity/deletion_hash.h"

#include <openssl/evp.h>

#include <array>
#include <initializer_list>

#include "common/base/check.h"

namespace cobblestone::federation {
namespace {

using Digest = std::array<unsigned char, 32>;

// SHA-256 over a tag and numbers, each as 8 bytes, little endian.
Digest DigestOf(std::initializer_list<std::uint64_t> numbers) {
  std::array<unsigned char, 64> bytes{};
  std::size_t size = 0;
  for (const std::uint64_t number : numbers) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes.at(size++) = static_cast<unsigned char>(number >> shift);
  }
  Digest digest{};
  COBBLESTONE_CHECK(::EVP_Digest(bytes.data(), size, digest.data(), nullptr, ::EVP_sha256(), nullptr) == 1,
                    "OpenSSL does not provide SHA-256");
  return digest;
}

std::uint64_t NumberAt(const Digest& digest, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | digest.at(at + i);
  return number;
}

}  // namespace

RowKey DeletionKeyOf(std::uint32_t project, std::uint64_t user) {
  const Digest digest = DigestOf({1, project, user});
  return {project, NumberAt(digest, 0), NumberAt(digest, 8)};
}

std::uint64_t HashOf(const AccountKey& account) {
  return NumberAt(DigestOf({2, account.project, account.user, account.create_time}), 0);
}

std::uint64_t HashOf(const AccountKey& account, const Cpid& cpid) {
  return NumberAt(DigestOf({3, account.project, account.user, account.create_time, cpid.high, cpid.low}), 0);
}

}  // namespace cobblestone::federation
