// A bad network between HTTP clients and one server: a TCP proxy that understands where a request and an answer end, and
// changes no byte. Each connection carries one request. TLS is not understood.
//
// Threads: any; each connection has a thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace cobblestone::testing {

enum class LinkFault : std::uint8_t {
  kNone,
  kCutRequest,  // the server sees the first half of the request, then both sides are cut
  kCutAnswer,   // the server has the request, the client sees the first half of the answer
  kLoseAnswer,  // the server has the request, the client sees nothing of the answer
  kDelay,       // the request arrives 50 ms late
  kRepeat,      // the server gets the request a second time after it has answered
  // The client is cut before the server sees anything. The request arrives behind some later ones, and of two such
  // requests the later one arrives first.
  kOvertaken,
};
inline constexpr std::size_t kLinkFaults = 7;

class BadLink {
 public:
  // Listens on 127.0.0.1. Connections are refused until SetServer().
  BadLink();
  ~BadLink();
  BadLink(const BadLink&) = delete;
  BadLink& operator=(const BadLink&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // "http://127.0.0.1:PORT"
  void SetServer(const std::string& url);
  // The next requests meet these faults, one each; later requests pass.
  void Script(std::vector<LinkFault> faults);
  // Half of the requests meet a fault from now on.
  void Harm(std::uint64_t seed);
  // Later requests pass. What was overtaken and has not arrived yet arrives now, last.
  void Heal();
  [[nodiscard]] int Count(LinkFault fault) const { return counts_[static_cast<std::size_t>(fault)]; }

 private:
  void Serve();
  void Carry(int client);
  LinkFault NextFault();
  // Sends the request and returns the whole answer; empty: the server ended the connection.
  std::string Deliver(const std::string& request, std::size_t bytes) const;
  void DeliverOvertaken();

  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> server_port_{0};
  std::atomic<bool> stopping_{false};
  std::array<std::atomic<int>, kLinkFaults> counts_{};
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<LinkFault> script_;
  std::optional<std::mt19937_64> harm_;
  std::vector<std::string> overtaken_;
  std::vector<std::thread> carriers_;
  std::thread thread_;
};

}  // namespace cobblestone::testing
