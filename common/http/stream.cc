#include "common/http/stream.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace cobblestone::http {
namespace {

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  void Handshake(Handler handler) override {
    boost::asio::post(socket_.get_executor(), [handler = std::move(handler)] { handler({}, 0); });
  }
  void Read(boost::asio::mutable_buffer buffer, Handler handler) override {
    socket_.async_read_some(buffer, std::move(handler));
  }
  void Write(const std::vector<boost::asio::const_buffer>& buffers, Handler handler) override {
    boost::asio::async_write(socket_, buffers, std::move(handler));
  }
  void Finish(Handler handler) override {
    boost::system::error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    boost::asio::post(socket_.get_executor(), [handler = std::move(handler), error] { handler(error, 0); });
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, boost::asio::ssl::context& tls) : stream_(std::move(socket), tls) {}

  void Handshake(Handler handler) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server,
                            [handler = std::move(handler)](const auto& error) { handler(error, 0); });
  }
  void Read(boost::asio::mutable_buffer buffer, Handler handler) override {
    stream_.async_read_some(buffer, std::move(handler));
  }
  void Write(const std::vector<boost::asio::const_buffer>& buffers, Handler handler) override {
    boost::asio::async_write(stream_, buffers, std::move(handler));
  }
  void Finish(Handler handler) override {
    // Does not wait for the client's close_notify: the connection's deadline limits the wait for other bytes.
    stream_.async_shutdown([handler = std::move(handler)](const auto& error) { handler(error, 0); });
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  boost::asio::ssl::stream<Socket> stream_;
};

}  // namespace

std::unique_ptr<Stream> MakeStream(Socket socket, boost::asio::ssl::context* tls) {
  if (tls == nullptr) return std::make_unique<PlainStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), *tls);
}

}  // namespace cobblestone::http
