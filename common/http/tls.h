// TLS for servers.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "common/base/status.h"

namespace cobblestone::http {

struct TlsFiles {
  std::string certificate;                             // PEM, the whole chain
  std::string key;                                     // PEM, without a password
  std::string certificate_option = "tls_certificate";  // names of the options, for messages
  std::string key_option = "tls_key";
};

// TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3; no renegotiation. kInvalidArgument:
// which file cannot be used, and why.
Status SetUpTls(SSL_CTX& context, const TlsFiles& files);

}  // namespace cobblestone::http
