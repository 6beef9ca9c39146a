#include "common/http/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <optional>

#include "common/http/stream.h"

namespace cobblestone::http {

using boost::asio::ip::tcp;
using Local = boost::asio::local::stream_protocol;
using boost::system::error_code;

class Client::Impl {
 public:
  Impl(std::string host, int port, std::string path)
      : host_(std::move(host)), port_(port), path_(std::move(path)) {}

  Result<ClientReply> Send(const ClientRequest& request, std::chrono::seconds patience,
                           const std::function<void(std::string_view)>& on_data) {
    until_ = std::chrono::steady_clock::now() + patience;
    auto reply = Try(request, on_data);
    if (!reply.ok()) socket_.reset();
    return reply;
  }

 private:
  // Runs one asynchronous step until it ends or the deadline passes.
  template <class Begin>
  error_code Step(Begin&& begin) {
    std::optional<error_code> done;
    begin([&](const error_code& error, std::size_t = 0) { done = error; });
    io_.restart();
    while (!done && io_.run_one_until(until_) != 0) {
    }
    if (done) return *done;
    error_code ignored;  // closing only cancels the step
    socket_->close(ignored);
    io_.restart();
    io_.run();
    return boost::asio::error::timed_out;
  }

  error_code Connect() {
    buffer_.clear();
    if (!path_.empty()) {
      Local::socket socket(io_);
      error_code error;
      socket.connect(Local::endpoint(path_), error);
      if (!error) socket_.emplace(std::move(socket));
      return error;
    }
    error_code error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(host_, std::to_string(port_), error);
    if (error) return error;
    for (const auto& endpoint : found) {
      tcp::socket socket(io_);
      socket.connect(endpoint, error);
      if (error) continue;
      error_code ignored;  // without the option the connection is only slower
      socket.set_option(tcp::no_delay(true), ignored);
      socket_.emplace(std::move(socket));
      return {};
    }
    return error;
  }

  Result<ClientReply> Try(const ClientRequest& request,
                          const std::function<void(std::string_view)>& on_data) {
    const auto failed = [](const error_code& error) { return Status::Retry(error.message()); };
    if (!socket_)
      if (const error_code error = Connect()) return failed(error);
    std::string head = request.method + " " + request.target + " HTTP/1.1\r\nHost: " +
                       (path_.empty() ? host_ + ":" + std::to_string(port_) : std::string("localhost")) +
                       "\r\n";
    for (const auto& [name, value] : request.headers) head += name + ": " + value + "\r\n";
    if (!request.content_type.empty()) head += "Content-Type: " + std::string(request.content_type) + "\r\n";
    if (request.method != "GET") head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    head += "\r\n";
    const std::vector<boost::asio::const_buffer> out{
        boost::asio::buffer(head), boost::asio::const_buffer(request.body.data(), request.body.size())};
    // The server may answer before it has read the whole body (413). Then writing fails, but the response can
    // be read.
    const error_code written =
        Step([&](auto handler) { boost::asio::async_write(*socket_, out, std::move(handler)); });
    if (written && written != boost::asio::error::broken_pipe &&
        written != boost::asio::error::connection_reset)
      return failed(written);

    boost::beast::http::response_parser<boost::beast::http::string_body> parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    while (!parser.is_done()) {
      const error_code error = Step([&](auto handler) {
        boost::beast::http::async_read_some(*socket_, buffer_, parser, std::move(handler));
      });
      if (error) return failed(error);
      if (on_data && parser.is_header_done() && !parser.get().body().empty()) {
        on_data(parser.get().body());
        parser.get().body().clear();
      }
    }
    ClientReply reply{.status = static_cast<int>(parser.get().result_int()),
                      .body = std::move(parser.get().body())};
    if (written || !parser.get().keep_alive()) socket_.reset();
    return reply;
  }

  const std::string host_;
  const int port_;
  const std::string path_;
  boost::asio::io_context io_{1};
  std::optional<Socket> socket_;
  boost::beast::flat_buffer buffer_;
  std::chrono::steady_clock::time_point until_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client::~Client() = default;

Client Client::OverUnixSocket(std::string path) {
  return Client(std::make_unique<Impl>("", 0, std::move(path)));
}
Client Client::OverTcp(std::string host, int port) {
  return Client(std::make_unique<Impl>(std::move(host), port, ""));
}

Result<ClientReply> Client::Send(const ClientRequest& request, std::chrono::seconds patience,
                                 const std::function<void(std::string_view)>& on_data) {
  return impl_->Send(request, patience, on_data);
}

}  // namespace cobblestone::http
