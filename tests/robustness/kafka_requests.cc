#include "tests/robustness/kafka_requests.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <sstream>
#include <stdexcept>

namespace cobblestone::testing {

namespace {

constexpr int kDeleteRecords = 21;
constexpr int kIncrementalAlterConfigs = 44;
constexpr int kDescribeTransactions = 65;
constexpr char kTopic = 2;
constexpr std::size_t kHeaderBytes = 5;                 // of an answer: correlation id, no tags
constexpr std::size_t kErrorAt = kHeaderBytes + 4 + 1;  // after the throttle time and the number of results

void PutBig(std::uint32_t v, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}

// Kafka encodes lengths and counts as the value plus one.
void PutCount(std::size_t n, std::string* out) {
  if (n >= 127) throw std::logic_error("a request of Kafka's with so much in it needs longer counts");
  out->push_back(static_cast<char>(n + 1));
}

void PutText(const std::string& text, std::string* out) {
  PutCount(text.size(), out);
  *out += text;
}

void PutNoTags(std::string* out) { out->push_back('\0'); }

bool Receive(int fd, std::size_t bytes, std::string* to) {
  to->resize(bytes);
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t n = ::recv(fd, to->data() + got, bytes - got, 0);
    if (n <= 0) return false;
    got += static_cast<std::size_t>(n);
  }
  return true;
}

// The answer of each broker, without its length; brokers that do not answer are left out.
std::vector<std::string> Ask(const std::string& bootstrap, int api, int version, const std::string& body) {
  std::string header;
  PutBig(static_cast<std::uint32_t>(api), 2, &header);
  PutBig(static_cast<std::uint32_t>(version), 2, &header);
  PutBig(1, 4, &header);  // correlation id
  PutBig(0, 2, &header);  // client.id
  PutNoTags(&header);
  std::string request;
  PutBig(static_cast<std::uint32_t>(header.size() + body.size()), 4, &request);
  request += header + body;
  std::vector<std::string> answers;
  std::istringstream addresses(bootstrap);
  for (std::string at; std::getline(addresses, at, ',');) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string length;
    std::string answer;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()) &&
        Receive(fd, 4, &length)) {
      std::uint32_t bytes = 0;
      for (const char c : length) bytes = bytes << 8 | static_cast<unsigned char>(c);
      if (Receive(fd, bytes, &answer)) answers.push_back(answer);
    }
    ::close(fd);
  }
  return answers;
}

}  // namespace

bool HasOpenTransaction(const std::string& bootstrap, const std::string& transactional_id) {
  std::string body;
  PutCount(1, &body);
  PutText(transactional_id, &body);
  PutNoTags(&body);
  for (const std::string& answer : Ask(bootstrap, kDescribeTransactions, 0, body)) {
    // Ongoing is the only state of an undecided transaction. A broker that is not the coordinator returns no
    // state.
    if (answer.find("\x08Ongoing") != std::string::npos) return true;
  }
  return false;
}

void SetTopicOptions(const std::string& bootstrap, const std::string& topic,
                     const std::vector<std::pair<std::string, std::string>>& options) {
  std::string body;
  PutCount(1, &body);
  body.push_back(kTopic);
  PutText(topic, &body);
  PutCount(options.size(), &body);
  for (const auto& [name, value] : options) {
    PutText(name, &body);
    body.push_back('\0');  // operation: set
    PutText(value, &body);
    PutNoTags(&body);
  }
  PutNoTags(&body);
  body.push_back('\0');  // validate only: no
  PutNoTags(&body);
  for (const std::string& answer : Ask(bootstrap, kIncrementalAlterConfigs, 1, body))
    if (answer.size() > kErrorAt + 2 && answer[kErrorAt] == 0 && answer[kErrorAt + 1] == 0) return;
  throw std::runtime_error("could not set the options of " + topic + "");
}

void TrimPartition(const std::string& bootstrap, const std::string& topic, std::uint32_t partition,
                   std::uint32_t first) {
  std::string body;
  PutCount(1, &body);
  PutText(topic, &body);
  PutCount(1, &body);
  PutBig(partition, 4, &body);
  PutBig(0, 4, &body);  // upper half of the offset
  PutBig(first, 4, &body);
  PutNoTags(&body);
  PutNoTags(&body);
  PutBig(30000, 4, &body);  // timeout, ms
  PutNoTags(&body);
  // After the topic's name, the number of its partitions, and the partition's number and new start offset.
  const std::size_t error_at = kErrorAt + 1 + topic.size() + 1 + 4 + 8;
  for (const std::string& answer : Ask(bootstrap, kDeleteRecords, 2, body))
    if (answer.size() > error_at + 2 && answer[error_at] == 0 && answer[error_at + 1] == 0) return;
  throw std::runtime_error("could not trim a partition of " + topic + "");
}

}  // namespace cobblestone::testing
