#include "tests/support/bad_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace cobblestone::testing {

namespace {

constexpr std::size_t kOvertakers = 3;

sockaddr_in LoopbackAt(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// The bytes of a whole message, by its Content-Length; none: its head is not complete yet.
std::optional<std::size_t> MessageBytes(const std::string& bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  std::string head = bytes.substr(0, end);
  std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string name = "\r\ncontent-length:";
  const std::size_t at = head.find(name);
  const std::size_t body =
      at == std::string::npos ? 0 : std::strtoull(head.c_str() + at + name.size(), nullptr, 10);
  return end + 4 + body;
}

// A whole message, or what there was of it when the other side ended the connection.
std::string ReadMessage(int socket) {
  std::string bytes;
  char buffer[16384];
  for (;;) {
    if (const auto all = MessageBytes(bytes); all && bytes.size() >= *all) return bytes;
    const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
    if (got <= 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

bool SendAll(int socket, const std::string& bytes, std::size_t count) {
  for (std::size_t sent = 0; sent < count;) {
    const ssize_t more = ::send(socket, bytes.data() + sent, count - sent, MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += static_cast<std::size_t>(more);
  }
  return true;
}

}  // namespace

BadLink::BadLink() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = LoopbackAt(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

BadLink::~BadLink() {
  stopping_ = true;
  thread_.join();
  for (std::thread& carrier : carriers_) carrier.join();
  ::close(listener_);
}

void BadLink::SetServer(const std::string& url) {
  server_port_ = std::atoi(url.c_str() + url.rfind(':') + 1);
}

void BadLink::Script(std::vector<LinkFault> faults) {
  const std::lock_guard lock(mutex_);
  script_.assign(faults.begin(), faults.end());
}

void BadLink::Harm(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  harm_.emplace(seed);
}

void BadLink::Heal() {
  {
    const std::lock_guard lock(mutex_);
    harm_.reset();
    script_.clear();
  }
  DeliverOvertaken();
}

LinkFault BadLink::NextFault() {
  const std::lock_guard lock(mutex_);
  LinkFault fault = LinkFault::kNone;
  if (!script_.empty()) {
    fault = script_.front();
    script_.pop_front();
  } else if (harm_ && (*harm_)() % 2 == 0) {
    fault = static_cast<LinkFault>(1 + (*harm_)() % (kLinkFaults - 1));
  }
  return fault;
}

void BadLink::Serve() {
  while (!stopping_) {
    pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 50) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const std::lock_guard lock(mutex_);
    carriers_.emplace_back([this, client] {
      Carry(client);
      ::close(client);
    });
  }
}

std::string BadLink::Deliver(const std::string& request, std::size_t bytes) const {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = LoopbackAt(server_port_);
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string answer;
  if (server_port_ != 0 &&
      ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      SendAll(server, request, bytes) && bytes == request.size())
    answer = ReadMessage(server);
  ::close(server);
  return answer;
}

void BadLink::DeliverOvertaken() {
  std::vector<std::string> requests;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(overtaken_);
  }
  for (auto request = requests.rbegin(); request != requests.rend(); ++request)
    (void)Deliver(*request, request->size());
}

void BadLink::Carry(int client) {
  const std::string request = ReadMessage(client);
  if (request.empty()) return;
  const LinkFault fault = NextFault();
  ++counts_[static_cast<std::size_t>(fault)];
  if (fault == LinkFault::kOvertaken) {
    const std::lock_guard lock(mutex_);
    overtaken_.push_back(request);
    return;
  }
  if (fault == LinkFault::kDelay) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string answer =
      Deliver(request, fault == LinkFault::kCutRequest ? request.size() / 2 : request.size());
  const std::size_t shown = fault == LinkFault::kLoseAnswer  ? 0
                            : fault == LinkFault::kCutAnswer ? answer.size() / 2
                                                             : answer.size();
  SendAll(client, answer, shown);
  ::shutdown(client, SHUT_RDWR);
  if (fault == LinkFault::kRepeat) (void)Deliver(request, request.size());
  bool arrive = false;
  {
    const std::lock_guard lock(mutex_);
    arrive = overtaken_.size() >= kOvertakers;
  }
  if (arrive) DeliverOvertaken();
}

}  // namespace cobblestone::testing
