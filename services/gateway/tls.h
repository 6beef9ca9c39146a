// The server's side of TLS: 1.2 or newer, the certificate with its chain, and its key.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "common/base/status.h"

namespace cobblestone::gateway {

// kInvalidArgument: which file cannot be used, and what OpenSSL says of it.
Status SetUpTls(SSL_CTX& context, const std::string& certificate, const std::string& key);

}  // namespace cobblestone::gateway
