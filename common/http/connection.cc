#include "common/http/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "common/http/body_coding.h"
#include "common/http/request_head.h"

namespace cobblestone::http {
namespace {

constexpr std::size_t kShortestLastChunk = 5;
constexpr std::size_t kReadStep = 16 * 1024;  // of a read; larger for bodies
constexpr std::size_t kBodyStep = 256 * 1024;
// For a client that still sends a refused request: the client receives the response if it stops sending
// within this time and size.
constexpr auto kLinger = std::chrono::milliseconds(2000);
constexpr std::size_t kMaxLingered = 64u << 20;

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return lower;
}

std::string DateNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text, size};
}

// Control characters become blanks, so that no value can end the line of its header field.
void AddField(std::string* head, std::string_view name, std::string_view value) {
  *head += name;
  *head += ": ";
  for (const char c : value) *head += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  *head += "\r\n";
}

bool HasNoBody(int status) { return status == 204 || status == 304 || status < 200; }

}  // namespace

bool BodyBudget::Take(const std::string& owner, std::size_t size) {
  std::size_t& mine = by_owner_[owner];
  if (taken_ + size > most_ || mine + size > (most_ + 1) / 2) {
    if (mine == 0) by_owner_.erase(owner);
    return false;
  }
  mine += size;
  taken_ += size;
  return true;
}

void BodyBudget::Give(const std::string& owner, std::size_t size) {
  if (size == 0) return;
  const auto mine = by_owner_.find(owner);
  mine->second -= size;
  if (mine->second == 0) by_owner_.erase(mine);
  taken_ -= size;
}

Connection::Connection(boost::asio::io_context& io, std::unique_ptr<Stream> stream, std::string peer,
                       bool direct, Host& host, std::function<void(Connection&)> closed)
    : io_(io),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      direct_(direct),
      host_(host),
      closed_(std::move(closed)),
      since_(std::chrono::steady_clock::now()),
      deadline_(io) {}

void Connection::Start() {
  Guarded([&] {
    Enter(Phase::kHandshake, host_.limits().head);
    stream_->Handshake([self = shared_from_this()](const auto& error, std::size_t) {
      if (error) return self->Close();
      self->Guarded([&] { self->ReadHead(); });
    });
  });
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  boost::system::error_code ignored;  // the socket is closed either way
  deadline_.cancel(ignored);
  stream_->socket().close(ignored);
  GiveBody();
  closed_(*this);
}

void Connection::Stop() {
  if (phase_ == Phase::kAnswering || phase_ == Phase::kWriting || phase_ == Phase::kLingering) {
    close_ = true;
    return;
  }
  Close();
}

int Connection::Dispensable() const {
  switch (phase_) {
    case Phase::kHandshake:
    case Phase::kIdle:
    case Phase::kHead:
    case Phase::kLingering: return 2;
    case Phase::kBody:
    case Phase::kWriting:
    case Phase::kStreaming: return plan_.trusted ? 0 : 1;
    case Phase::kAnswering:
    case Phase::kClosed: break;
  }
  return 0;
}

template <class F>
void Connection::Guarded(F&& f) {
  if (phase_ == Phase::kClosed) return;
  try {
    f();
  } catch (const std::exception&) {
    // Out of memory, or a defect in a service. The client sees a closed connection and may repeat the
    // request.
    Close();
  }
}

void Connection::Enter(Phase phase, std::chrono::milliseconds deadline) {
  phase_ = phase;
  since_ = std::chrono::steady_clock::now();
  deadline_.expires_after(deadline);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error && std::chrono::steady_clock::now() >= self->deadline_.expiry()) self->OnDeadline();
  });
}

void Connection::OnDeadline() {
  switch (phase_) {
    case Phase::kHead: return Guarded([&] { Fail(408, "timeout before the end of the request head"); });
    case Phase::kBody: return Guarded([&] { Fail(408, "timeout before the end of the request body"); });
    case Phase::kAnswering: return;  // a handler is running, and has its own limits
    default: return Close();
  }
}

void Connection::Write(const std::vector<boost::asio::const_buffer>& buffers, void (Connection::*next)()) {
  stream_->Write(buffers, [self = shared_from_this(), next](const auto& error, std::size_t) {
    if (error) return self->Close();
    self->Guarded([&] { ((*self).*next)(); });
  });
}

void Connection::ReadMore(void (Connection::*next)(std::size_t)) {
  on_read_ = next;
  if (reading_) return;
  reading_ = true;
  const std::size_t step = phase_ == Phase::kBody ? kBodyStep : kReadStep;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + step) buffer_.resize(end_ + step);
  stream_->Read(boost::asio::buffer(buffer_.data() + end_, step),
                [self = shared_from_this()](const auto& error, std::size_t size) {
                  self->reading_ = false;
                  self->end_ += size;
                  if (self->on_read_ == nullptr) return;  // a response was sent meanwhile
                  if (error) return self->Close();
                  self->Guarded([&] { ((*self).*self->on_read_)(size); });
                });
}

// ---- The head -----------------------------------------------------------------------------------------------

void Connection::ReadHead() {
  head_.reset();
  plan_ = {};
  parser_.reset();
  whole_ = true;
  close_ = false;
  if (host_.stopping()) return Close();
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kReadStep) std::vector<char>().swap(buffer_);  // an idle connection holds no memory
    Enter(Phase::kIdle, host_.limits().idle);
    return ReadMore(&Connection::OnHeadBytes);
  }
  Enter(Phase::kHead, host_.limits().head);
  OnHeadBytes(0);
}

void Connection::OnHeadBytes(std::size_t size) {
  if (phase_ == Phase::kIdle) Enter(Phase::kHead, host_.limits().head);
  const std::size_t seen = end_ - begin_ - size;
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  const std::size_t end = text.find("\r\n\r\n", size == 0 || seen < 3 ? 0 : seen - 3);
  if (std::min(end, text.size()) > kLargestHead - 4)
    return Fail(431, "the head of the request is larger than " + std::to_string(kLargestHead) + " bytes");
  if (end != std::string_view::npos) {
    begin_ += end + 4;
    return OnHead(text.substr(0, end + 4));
  }
  ReadMore(&Connection::OnHeadBytes);
}

void Connection::OnHead(std::string_view text) {
  auto parsed = ParseHead(text);
  if (!parsed.ok())
    return Fail(parsed.status().code() == StatusCode::kFull ? 431 : 400, parsed.status().message());
  head_ = std::make_shared<Head>(std::move(*parsed));
  head_->peer = peer_;
  whole_ = !head_->has_body();
  close_ = !head_->keep_alive;
  plan_ = host_.service().OnRequest(*head_);
  if (plan_.refusal) return Send(std::move(*plan_.refusal), close_ || !whole_);

  if (!whole_ && plan_.largest_body == 0) return Fail(400, "a request body is not allowed here");
  if (head_->HasField("content-encoding") && LowerAscii(head_->Field("content-encoding")) != "identity" &&
      (!plan_.codings || !KnownCoding(LowerAscii(head_->Field("content-encoding")))))
    return Fail(415, plan_.codings ? "only the Content-Encodings gzip and zstd are supported here"
                                   : "a Content-Encoding is not allowed here");
  if (head_->content_length.value_or(0) > plan_.largest_body)
    return Fail(413, "the body is larger than " + std::to_string(plan_.largest_body) + " bytes");
  if (!whole_ && LowerAscii(head_->Field("content-type")).starts_with("multipart/"))
    return Fail(415, "a multipart body is not supported");
  const bool expects = head_->HasField("expect");
  if (expects && LowerAscii(head_->Field("expect")) != "100-continue")
    return Fail(417, "the only supported expectation is 100-continue");
  if (whole_) return OnBody();

  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(kLargestHead + 1));
  parser_->body_limit(plan_.largest_body);
  boost::system::error_code error;
  (void)parser_->put(boost::asio::const_buffer(text.data(), text.size()), error);
  if (error || !parser_->is_header_done()) return Fail(400, "the head is not HTTP/1.1");
  Enter(Phase::kBody, host_.limits().body);
  if (!expects || !head_->version_1_1 || begin_ != end_) return ReadBody();
  out_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
  Write({boost::asio::buffer(out_head_)}, &Connection::ReadBody);
}

// ---- The body -----------------------------------------------------------------------------------------------

void Connection::ReadBody() {
  if (begin_ != end_) return OnBodyBytes(0);
  ReadMore(&Connection::OnBodyBytes);
}

void Connection::OnBodyBytes(std::size_t /*size*/) {
  // A chunked body ends with "0 CR LF CR LF", so at least 5 more bytes follow until it has ended. Beast
  // asserts that it receives these 5 bytes together if the body has no other chunk.
  const std::size_t least = parser_->chunked() ? kShortestLastChunk : 1;
  while (end_ - begin_ >= least && !parser_->is_done()) {
    boost::system::error_code error;
    const std::size_t used =
        parser_->put(boost::asio::const_buffer(buffer_.data() + begin_, end_ - begin_), error);
    begin_ += used;
    if (error == boost::beast::http::error::body_limit || parser_->get().body().size() > plan_.largest_body)
      return Fail(413, "the body is larger than " + std::to_string(plan_.largest_body) + " bytes");
    if (error && error != boost::beast::http::error::need_more)
      return Fail(400, "the body does not match the head: " + error.message());
    // Body bytes are consumed on arrival. Parts that must be complete first (a chunk's size, trailers) have
    // the size limit of a head.
    if (error && end_ - begin_ > kLargestHead) return Fail(431, "a line of the body's framing is too long");
    if (used == 0) break;
  }
  const std::size_t held = parser_->get().body().size();
  if (held > body_taken_) {
    if (!host_.bodies().Take(plan_.owner, held - body_taken_)) {
      Response busy =
          host_.service().OnError(503, "too many request bodies at the same time; send the request again");
      busy.headers.emplace_back("Retry-After", "1");
      return Send(std::move(busy), true);
    }
    body_taken_ = held;
  }
  if (!parser_->is_done()) return ReadMore(&Connection::OnBodyBytes);
  whole_ = true;
  OnBody();
}

void Connection::OnBody() {
  std::string body = parser_ ? std::move(parser_->get().body()) : std::string();
  parser_.reset();
  Enter(Phase::kAnswering, std::chrono::hours(24));
  const auto work = [self = shared_from_this(), answer = std::move(plan_.answer), head = head_,
                     body = std::make_shared<std::string>(std::move(body)), most = plan_.largest_body] {
    Response response;
    Service& service = self->host_.service();
    try {
      const std::string coding = LowerAscii(head->Field("content-encoding"));
      Status decoded;
      if (!coding.empty() && coding != "identity" && head->has_body()) {
        auto text = DecodeBody(coding, *body, most);
        decoded = text.status();
        if (text.ok()) *body = std::move(*text);
      }
      if (decoded.ok()) {
        response = answer(std::move(*body));
        service.OnAnswered(*head, response);
      } else {
        response = service.OnError(decoded.code() == StatusCode::kFull ? 413 : 400, decoded.message());
      }
    } catch (const std::exception&) {
      response = service.OnError(500, "the request failed");
    }
    boost::asio::post(self->io_, [self, response = std::make_shared<Response>(std::move(response))] {
      self->Guarded([&] {
        self->GiveBody();
        self->Send(std::move(*response), self->close_ || self->host_.stopping());
      });
    });
  };
  if (!host_.Run(plan_.pool, plan_.owner, work)) Close();
}

void Connection::GiveBody() {
  host_.bodies().Give(plan_.owner, body_taken_);
  body_taken_ = 0;
}

// ---- The answer ---------------------------------------------------------------------------------------------

void Connection::Fail(int status, const std::string& message) {
  whole_ = false;
  on_read_ = nullptr;  // an active read continues, and its bytes are dropped
  parser_.reset();
  GiveBody();
  Response response = host_.service().OnError(status, message);
  if (head_) host_.service().OnAnswered(*head_, response);
  Send(std::move(response), true);
}

void Connection::Send(Response response, bool close) {
  out_ = std::move(response);
  close_ = close;
  const bool head_only = head_ && head_->method == "HEAD";
  const bool chunks = out_.producer && (!head_ || head_->version_1_1);
  const std::string_view body = out_.fixed_body.empty() ? std::string_view(out_.body) : out_.fixed_body;
  if (out_.producer && !chunks)
    close_ = true;  // HTTP/1.0 has no chunks: closing the connection ends the response
  out_head_ = "HTTP/1.1 " + std::to_string(out_.status) + " " + std::string(ReasonOf(out_.status)) + "\r\n";
  AddField(&out_head_, "Date", DateNow());
  if (!out_.type.empty() && !HasNoBody(out_.status)) AddField(&out_head_, "Content-Type", out_.type);
  for (const auto& [name, value] : out_.headers) AddField(&out_head_, name, value);
  if (out_.producer) {
    if (chunks) AddField(&out_head_, "Transfer-Encoding", "chunked");
  } else if (!HasNoBody(out_.status)) {
    AddField(&out_head_, "Content-Length", std::to_string(body.size()));
  }
  if (close_) {
    AddField(&out_head_, "Connection", "close");
  } else if (head_ && !head_->version_1_1) {
    AddField(&out_head_, "Connection", "keep-alive");
  }
  out_head_ += "\r\n";
  std::vector<boost::asio::const_buffer> buffers{boost::asio::buffer(out_head_)};
  if (head_only || HasNoBody(out_.status)) {
    out_.producer.reset();
  } else if (!out_.producer) {
    buffers.emplace_back(body.data(), body.size());
  }
  Enter(out_.producer ? Phase::kStreaming : Phase::kWriting, host_.limits().answer);
  Write(buffers, out_.producer ? &Connection::NextPiece : &Connection::OnWritten);
}

void Connection::OnWritten() {
  out_ = {};
  if (!close_ && whole_) return ReadHead();
  Linger();
}

void Connection::NextPiece() {
  if (host_.stopping()) return Close();
  Enter(Phase::kStreaming, std::chrono::hours(24));  // the producer waits for data
  const auto work = [self = shared_from_this(), producer = out_.producer] {
    auto piece = std::make_shared<std::string>();
    bool more = false;
    try {
      more = producer->Next(piece.get());
    } catch (const std::exception&) {
      boost::asio::post(self->io_, [self] { self->Close(); });  // a partial response must not look complete
      return;
    }
    boost::asio::post(self->io_,
                      [self, piece, more] { self->Guarded([&] { self->SendPiece(more, *piece); }); });
  };
  if (!host_.RunProducer(work)) Close();
}

void Connection::SendPiece(bool more, const std::string& piece) {
  if (more && piece.empty()) return NextPiece();
  const bool chunks = !head_ || head_->version_1_1;
  out_.body.clear();
  if (!piece.empty()) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    if (chunks) out_.body += size;
    out_.body += piece;
    if (chunks) out_.body += "\r\n";
  }
  if (!more && chunks) out_.body += "0\r\n\r\n";
  if (!more) out_.producer.reset();
  Enter(more ? Phase::kStreaming : Phase::kWriting, host_.limits().answer);
  Write({boost::asio::buffer(out_.body)}, more ? &Connection::NextPiece : &Connection::OnWritten);
}

// ---- The end ------------------------------------------------------------------------------------------------

// Closing a socket with unread bytes makes the system send a reset, and the client may lose the response. The
// rest is therefore read and dropped for a limited time (kLinger, kMaxLingered).
void Connection::Linger() {
  Enter(Phase::kLingering, kLinger);
  if (reading_) return ReadMore(&Connection::OnLingered);
  stream_->Finish([self = shared_from_this()](const auto&, std::size_t) {
    self->Guarded([&] {
      if (self->whole_) return self->Close();
      self->ReadMore(&Connection::OnLingered);
    });
  });
}

void Connection::OnLingered(std::size_t size) {
  lingered_ += size;
  begin_ = end_ = 0;
  if (lingered_ > kMaxLingered) return Close();
  ReadMore(&Connection::OnLingered);
}

}  // namespace cobblestone::http
