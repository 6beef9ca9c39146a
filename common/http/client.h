// An HTTP client for our own programs: one persistent connection, one request at a time.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::http {

struct ClientRequest {
  std::string method = "GET";
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string_view body{};
  std::string_view content_type{};
};

struct ClientReply {
  int status = 0;
  std::string body;
};

class Client {
 public:
  static Client OverUnixSocket(std::string path);
  static Client OverTcp(std::string host, int port);
  Client(Client&&) noexcept;
  ~Client();

  // kRetry: no complete answer within `patience`; the request may or may not have been processed, and the
  // next call reconnects. With `on_data` the body is passed piece by piece and not kept.
  Result<ClientReply> Send(const ClientRequest& request, std::chrono::seconds patience,
                           const std::function<void(std::string_view)>& on_data = {});

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::http
