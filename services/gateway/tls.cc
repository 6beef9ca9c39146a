#include "services/gateway/tls.h"

#include <openssl/err.h>

namespace cobblestone::gateway {
namespace {

Status Unusable(const std::string& option, const std::string& file) {
  char reason[256] = "OpenSSL says no reason";
  if (const unsigned long code = ::ERR_get_error(); code != 0)
    ::ERR_error_string_n(code, reason, sizeof reason);
  ::ERR_clear_error();
  return Status::InvalidArgument(option + ": " + file + " cannot be used: " + reason);
}

}  // namespace

Status SetUpTls(SSL_CTX& context, const std::string& certificate, const std::string& key) {
  ::ERR_clear_error();
  ::SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(&context,
                        SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A key with a password would be asked for on the terminal.
  ::SSL_CTX_set_default_passwd_cb(&context, [](char*, int, int, void*) { return 0; });
  if (::SSL_CTX_use_certificate_chain_file(&context, certificate.c_str()) != 1)
    return Unusable("gateway.tls_certificate", certificate);
  if (::SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return Unusable("gateway.tls_key", key);
  if (::SSL_CTX_check_private_key(&context) != 1) return Unusable("gateway.tls_key", key);
  return Status::Ok();
}

}  // namespace cobblestone::gateway
