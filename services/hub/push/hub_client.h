// HTTP to a federation hub with the project's token. Certificates are always checked, and redirects are not followed, so
// the token reaches nobody but the hub. Each request has a connection of its own.
//
// Owner: one thread. `stop` is looked at about once a second.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

struct HubClientOptions {
  std::string url;         // of the hub, without '/' at its end
  std::string ca_file{};   // PEM; empty: the system's authorities
  std::string token_file;  // read for every request, so that a new token counts at once
  std::chrono::milliseconds connect = std::chrono::seconds(10);
  // Of a whole request: a hub answers when the events are durable, and the last ones when all before are processed.
  std::chrono::milliseconds whole = std::chrono::minutes(2);
};

struct HubReply {
  int status = 0;
  std::string body{};      // complete, at most 1 MiB
  double date = 0;         // the hub's clock, UNIX s; 0: the answer does not have it
  double retry_after = 0;  // s for which the hub asks to be left alone (Retry-After); 0: it does not
};

class HubClient {
 public:
  explicit HubClient(HubClientOptions options);

  // A complete answer with any status. kRetry: there was none; whether the hub has seen the request is unknown.
  // kInvalidArgument: the token file cannot be used; the message says why, never with the token.
  Result<HubReply> Get(const std::string& path, const std::stop_token& stop) const;
  // `body`: delimited protobuf envelopes.
  Result<HubReply> Post(const std::string& path, std::string_view body, const std::stop_token& stop) const;

 private:
  Result<HubReply> Ask(const std::string& path, const std::string_view* body,
                       const std::stop_token& stop) const;

  const HubClientOptions options_;
};

}  // namespace cobblestone::hub
