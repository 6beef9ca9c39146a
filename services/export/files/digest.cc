#include "services/export/files/digest.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/base/check.h"

namespace cobblestone::exports {

struct Sha256::Context {
  Context() : md(EVP_MD_CTX_new()) {}
  ~Context() { EVP_MD_CTX_free(md); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  EVP_MD_CTX* md;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  COBBLESTONE_CHECK(EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr) == 1,
                    "OpenSSL does not provide SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Add(std::string_view bytes) {
  COBBLESTONE_CHECK(EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1,
                    "cannot continue a checksum");
}

std::string Sha256::Finish() {
  std::array<unsigned char, 32> sum;
  COBBLESTONE_CHECK(EVP_DigestFinal_ex(context_->md, sum.data(), nullptr) == 1,
                    "a checksum is finished only once");
  std::string hex;
  for (const unsigned char byte : sum) {
    hex += "0123456789abcdef"[byte >> 4U];
    hex += "0123456789abcdef"[byte & 15U];
  }
  return hex;
}

Result<FileDigest> DigestOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  FileDigest digest;
  Sha256 sum;
  std::string buffer(1U << 18U, '\0');
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    sum.Add(std::string_view(buffer).substr(0, got));
    digest.bytes += got;
  }
  if (file.bad()) return Status::Fatal(path + ": read error before the end of the file");
  digest.sha256 = sum.Finish();
  return digest;
}

}  // namespace cobblestone::exports
