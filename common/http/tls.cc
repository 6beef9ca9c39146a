#include "common/http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <memory>

#include "common/base/secret_file.h"

namespace cobblestone::http {
namespace {

constexpr std::size_t kLargestKey = 1u << 20;

// RFC 9325: only ephemeral key exchange and AEAD, for TLS 1.2. TLS 1.3 has no other ciphers.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

Status Unusable(const std::string& option, const std::string& file) {
  char reason[256] = "no reason from OpenSSL";
  if (const unsigned long code = ::ERR_get_error(); code != 0)
    ::ERR_error_string_n(code, reason, sizeof reason);
  ::ERR_clear_error();
  return Status::InvalidArgument(option + ": " + file + " cannot be used: " + reason);
}

Status UseKey(SSL_CTX& context, const TlsFiles& files) {
  auto pem = ReadSecretFile(files.key_option, files.key, kLargestKey);
  if (!pem.ok()) return pem.status();
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(
      ::BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size())), ::BIO_free);
  // The callback returns no password: OpenSSL would otherwise ask for one on the terminal.
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(
      ::PEM_read_bio_PrivateKey(
          bytes.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr),
      ::EVP_PKEY_free);
  Status status;
  if (key == nullptr || ::SSL_CTX_use_PrivateKey(&context, key.get()) != 1)
    status = Unusable(files.key_option, files.key);
  Wipe(&*pem);
  return status;
}

}  // namespace

Status SetUpTls(SSL_CTX& context, const TlsFiles& files) {
  ::ERR_clear_error();
  ::SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(&context,
                        SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  if (::SSL_CTX_set_cipher_list(&context, kCiphers) != 1)
    return Status::Fatal("OpenSSL supports none of the allowed TLS 1.2 ciphers");
  if (::SSL_CTX_use_certificate_chain_file(&context, files.certificate.c_str()) != 1)
    return Unusable(files.certificate_option, files.certificate);
  if (Status s = UseKey(context, files); !s.ok()) return s;
  if (::SSL_CTX_check_private_key(&context) != 1) return Unusable(files.key_option, files.key);
  return Status::Ok();
}

}  // namespace cobblestone::http
