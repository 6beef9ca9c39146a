// A project that signs proofs of account ownership as BOINC's page does: RSA, SHA-512, base64.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <vector>

namespace cobblestone::testing {

class SigningProject {
 public:
  explicit SigningProject(unsigned bits = 2048) : key_(::EVP_RSA_gen(bits), ::EVP_PKEY_free) {}

  // PEM
  [[nodiscard]] std::string PublicKey() const {
    const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(::BIO_new(::BIO_s_mem()), ::BIO_free);
    ::PEM_write_bio_PUBKEY(bytes.get(), key_.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(bytes.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
  [[nodiscard]] std::string Sign(const std::string& message) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                            ::EVP_MD_CTX_free);
    ::EVP_DigestSignInit(context.get(), nullptr, ::EVP_sha512(), nullptr, key_.get());
    std::size_t size = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
    ::EVP_DigestSign(context.get(), nullptr, &size, bytes, message.size());
    std::vector<unsigned char> signature(size);
    ::EVP_DigestSign(context.get(), signature.data(), &size, bytes, message.size());
    std::vector<unsigned char> text(size * 2 + 4);
    const int length = ::EVP_EncodeBlock(text.data(), signature.data(), static_cast<int>(size));
    return {text.begin(), text.begin() + length};
  }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key_;
};

}  // namespace cobblestone::testing
