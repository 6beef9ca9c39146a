#include "tests/robustness/kafka_faults.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace cobblestone::testing {

namespace {

constexpr int kDescribeTransactions = 65;

void PutBig(std::uint32_t v, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}

bool Receive(int fd, std::size_t bytes, std::string* to) {
  to->resize(bytes);
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t n = ::recv(fd, to->data() + got, bytes - got, 0);
    if (n <= 0) return false;
    got += static_cast<std::size_t>(n);
  }
  return true;
}

// What the broker at this port answers, without its length; empty: it does not.
std::string Ask(std::uint16_t port, const std::string& request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  std::string length;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()) &&
      Receive(fd, 4, &length)) {
    std::uint32_t bytes = 0;
    for (const char c : length) bytes = bytes << 8 | static_cast<unsigned char>(c);
    if (!Receive(fd, bytes, &answer)) answer.clear();
  }
  ::close(fd);
  return answer;
}

}  // namespace

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

FaultCounts::~FaultCounts() {
  for (const auto& [kind, count] : by_kind_)
    std::printf("fault | %s | %d | %d\n", kind.c_str(), count.all, count.open);
}

void FaultCounts::Note(const std::string& kind, bool open, int count) {
  by_kind_[kind].all += count;
  if (open) by_kind_[kind].open += count;
}

int FaultCounts::all() const {
  int sum = 0;
  for (const auto& [kind, count] : by_kind_) sum += count.all;
  return sum;
}

int FaultCounts::Of(const std::string& kind) const {
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? 0 : found->second.all;
}

bool HasOpenTransaction(const std::string& bootstrap, const std::string& transactional_id) {
  std::string body;
  PutBig(kDescribeTransactions, 2, &body);
  PutBig(0, 2, &body);   // version
  PutBig(1, 4, &body);   // correlation
  PutBig(0, 2, &body);   // client.id, empty
  body.push_back('\0');  // no tags
  body.push_back('\2');  // one id (lengths and counts are told as one more)
  body.push_back(static_cast<char>(transactional_id.size() + 1));
  body += transactional_id;
  body.append(2, '\0');  // no tags
  std::string request;
  PutBig(static_cast<std::uint32_t>(body.size()), 4, &request);
  request += body;
  std::istringstream addresses(bootstrap);
  for (std::string address; std::getline(addresses, address, ',');) {
    const std::string answer =
        Ask(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))), request);
    // Of the states only this one means that nothing is decided. A broker that is not the coordinator names none.
    if (answer.find("\x08Ongoing") != std::string::npos) return true;
  }
  return false;
}

}  // namespace cobblestone::testing
