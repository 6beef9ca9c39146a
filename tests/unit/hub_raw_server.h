// An HTTP server on a local port that answers with any bytes, also with those that a correct server never sends.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cobblestone::hub {

class RawServer {
 public:
  // The head of a request, and the connection to answer on, which is closed behind it.
  using Answer = std::function<void(const std::string& head, int connection)>;

  RawServer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] std::string Url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  // Replaces the answer for a path; all other paths give 404.
  void Set(const std::string& path, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_[path] = std::move(answer);
  }
  void SetBytes(const std::string& path, const std::string& bytes) {
    Set(path, [bytes](const std::string&, int connection) { Send(connection, bytes); });
  }
  void SetBody(const std::string& path, const std::string& body, const std::string& headers = "") {
    SetBytes(path, Ok(body, headers));
  }
  void Remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    answers_.erase(path);
  }
  static std::string Ok(const std::string& body, const std::string& headers = "") {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" +
           headers + "\r\n" + body;
  }
  // False: the client has closed the connection.
  static bool Send(int connection, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(connection, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }
  // "GET /stats/user.gz" of each request, and the whole heads.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::string last_head() {
    const std::lock_guard lock(mutex_);
    return last_head_;
  }

 private:
  void Serve() {
    while (true) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      std::string head;
      std::string byte(1, '\0');
      while (!head.ends_with("\r\n\r\n") && ::recv(connection, byte.data(), 1, 0) == 1) head += byte;
      if (head.ends_with("\r\n\r\n")) Reply(head, connection);
      ::shutdown(connection, SHUT_WR);
      while (::recv(connection, byte.data(), 1, 0) == 1) {
      }
      ::close(connection);
    }
  }
  void Reply(const std::string& head, int connection) {
    const std::size_t begin = head.find(' ') + 1;
    const std::string path = head.substr(begin, head.find_first_of(" ?", begin) - begin);
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(head.substr(0, begin) + path);
      last_head_ = head;
      const auto found = answers_.find(path);
      if (found != answers_.end()) answer = found->second;
    }
    if (answer) return answer(head, connection);
    Send(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnone");
  }

  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<std::string> requests_;
  std::string last_head_;
};

}  // namespace cobblestone::hub
