#include "services/gateway/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "services/gateway/client_address.h"
#include "services/gateway/listen_address.h"
#include "services/gateway/rate_limit.h"
#include "services/gateway/routes.h"
#include "services/gateway/static_files.h"
#include "services/gateway/tls.h"
#include "services/gateway/workers.h"

namespace cobblestone::gateway {
namespace {

// Bounds how long a silent connection holds up a clean stop. A client that comes back later connects again.
constexpr time_t kSilenceSeconds = 2;
constexpr std::size_t kRequestsPerConnection = 1u << 20;
constexpr int kBacklog = 128;
constexpr std::string_view kApi = "/api/";
constexpr const char* kEventStream = "text/event-stream";

// What the page needs is its own: nothing is loaded from elsewhere, and nothing else may show it in a frame.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src "
    "'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
constexpr const char* kAnswerPolicy = "default-src 'none'; frame-ancestors 'none'";

double Steady() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// As it is, whatever the client accepts: what has a provider of known length the library does not compress (in Debian 13's,
// 0.18, Brotli may never come back).
void SetBody(httplib::Response& response, std::string text, const std::string& type) {
  const auto body = std::make_shared<const std::string>(std::move(text));
  response.set_content_provider(body->size(), type,
                                [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                  if (offset > body->size() || length > body->size() - offset) return false;
                                  return sink.write(body->data() + offset, length);
                                });
}

void Say(Answer answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name.c_str(), value);
  response.set_header("Content-Security-Policy", kAnswerPolicy);
  response.set_header("Cache-Control", "no-store");
  if (answer.body.empty()) answer.body = "\n";  // a provider needs a byte
  SetBody(response, std::move(answer.body), answer.type);
}

std::string MediaType(const std::string& header) {
  std::string type = header.substr(0, header.find(';'));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return type;
}

// A proxy may say it in a line of its own behind what was there. The library of Debian 13 keeps headers in a hash map, which
// gives those of one name from the last to the first.
std::string ForwardedFor(const httplib::Request& request) {
  static const bool last_first = [] {
    httplib::Headers two;
    two.emplace("a", "1");
    two.emplace("a", "2");
    return two.find("a")->second == "2";
  }();
  std::string all;
  const auto [begin, end] = request.headers.equal_range("X-Forwarded-For");
  for (auto line = begin; line != end; ++line)
    all = all.empty() ? line->second : last_first ? line->second + "," + all : all + "," + line->second;
  return all;
}

// The token of "Authorization: Bearer TOKEN".
std::string_view BearerOf(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(header[i])) != kScheme[i]) return {};
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const settings::GatewaySettings& settings, Tokens tokens, Handlers& handlers, LiveFeed& live,
       AccessLog log)
      : settings_(settings),
        tokens_(std::move(tokens)),
        handlers_(handlers),
        live_(live),
        log_(std::move(log)),
        limit_({.per_second = static_cast<double>(settings.rate_limit),
                .burst = static_cast<double>(settings.rate_burst)}) {
    const bool read = settings.anonymous_role == settings::AnonymousRole::kRead;
    anonymous_ = {.read = read, .metrics = read};
  }

  Status Start() {
    if (Status s = CheckListening(settings_); !s.ok()) return s;
    auto address = ParseListenAddress(settings_.listen);
    if (!address.ok()) return address.status();
    if (Status s = MakeServer(); !s.ok()) return s;
    Configure();
    SetHandlers();
    if (address->port == 0) {
      address->port = http_->bind_to_any_port(address->host);
      if (address->port <= 0) return CannotListen();
    } else if (!http_->bind_to_port(address->host, address->port)) {
      return CannotListen();
    }
    // The library's own queue of connections that the system has taken is 5 long: a page opens six at once.
    (void)::listen(listening_, kBacklog);  // a short queue is no reason to end
    url_ = UrlOf(*address, Tls());
    thread_ = std::thread([this] { http_->listen_after_bind(); });
    // stop() before the loop runs would be lost.
    while (!http_->is_running()) std::this_thread::yield();
    return Status::Ok();
  }

  ~Impl() {
    live_.Stop();
    if (!thread_.joinable()) return;
    http_->stop();
    thread_.join();
  }

  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  [[nodiscard]] bool Tls() const { return !settings_.tls_certificate.empty(); }

  Status CannotListen() const {
    return Status::InvalidArgument(
        "cannot listen at " + settings_.listen + ": " + std::strerror(errno) +
        "; another program may have it. gateway.listen names another place, with port 0 "
        "any that is free");
  }

  Status MakeServer() {
    if (!Tls()) {
      http_ = std::make_unique<httplib::Server>();
      return Status::Ok();
    }
    Status status;
    http_ = std::make_unique<httplib::SSLServer>([&](SSL_CTX& context) {
      status = SetUpTls(context, settings_.tls_certificate, settings_.tls_key);
      return status.ok();
    });
    if (status.ok() && !http_->is_valid()) status = Status::Fatal("OpenSSL cannot begin");
    return status;
  }

  void Configure() {
    // Not the library's, which lets two programs listen at one port.
    http_->set_socket_options([this](socket_t descriptor) {
      const int yes = 1;
      ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      listening_ = descriptor;
    });
    http_->new_task_queue = [this] { return new Workers(settings_.connections); };
    // Head and body are two writes: without it the second waits for an acknowledgement, 40 ms.
    http_->set_tcp_nodelay(true);
    http_->set_keep_alive_timeout(kSilenceSeconds);
    http_->set_keep_alive_max_count(kRequestsPerConnection);
    const auto patience = std::chrono::duration_cast<std::chrono::seconds>(settings_.timeout).count();
    http_->set_read_timeout(patience);
    http_->set_write_timeout(patience);
    http_->set_payload_max_length(settings_.largest_body);
    httplib::Headers headers = {{"X-Content-Type-Options", "nosniff"},
                                {"X-Frame-Options", "DENY"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cross-Origin-Resource-Policy", "same-origin"},
                                {"Cross-Origin-Opener-Policy", "same-origin"}};
    if (Tls()) headers.emplace("Strict-Transport-Security", "max-age=31536000");
    http_->set_default_headers(std::move(headers));
  }

  void SetHandlers() {
    const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
      Serve(request, response, {});
    };
    // A body is read when it is known that its sender may send it; else it is passed over.
    const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& reader) {
      Serve(request, response, [&](std::string* body) { return ReadBody(request, reader, body); });
    };
    http_->Get(".*", without_body);
    http_->Options(".*", without_body);
    http_->Post(".*", with_body);
    http_->Put(".*", with_body);
    http_->Patch(".*", with_body);
    http_->Delete(".*", with_body);
    // What the library refuses itself: no HTTP, too long, methods that it does not know.
    http_->set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (response.content_provider_) return;
      const int status = response.status;
      if (status == 400 && !Routed(request.method)) {
        const std::string allowed = FindRoute(request.method, request.path).allowed;
        return Say(NotAllowed(request.path, allowed.empty() ? "GET, HEAD, POST" : allowed), response);
      }
      Say(status == 413 ? TooLarge()
                        : ErrorAnswer(status, status < 500 ? "invalid_argument" : "fatal",
                                      "HTTP status " + std::to_string(status)),
          response);
    });
  }

  // What the library hands on.
  static bool Routed(std::string_view method) {
    for (const std::string_view known : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
      if (method == known) return true;
    return method.empty();
  }

  static Answer NotAllowed(const std::string& path, const std::string& allowed) {
    Answer answer = ErrorAnswer(405, "method_not_allowed", path + " takes " + allowed);
    answer.headers.emplace_back("Allow", allowed);
    return answer;
  }

  Answer TooLarge() const {
    return ErrorAnswer(413, "too_large",
                       "the request is larger than " + std::to_string(settings_.largest_body) +
                           " bytes (gateway.largest_body); send smaller batches");
  }

  // Why it could not be read; none: it was.
  std::optional<Answer> ReadBody(const httplib::Request& request, const httplib::ContentReader& reader,
                                 std::string* body) const {
    // Without either no body follows, and the library would wait for one until the connection ends.
    if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding"))
      return std::nullopt;
    bool too_large = false;
    const bool read = reader([&](const char* data, std::size_t size) {
      if (body == nullptr) return true;
      too_large = size > settings_.largest_body - body->size();
      if (!too_large) body->append(data, size);
      return !too_large;
    });
    if (read) return std::nullopt;
    if (too_large || std::strtoull(request.get_header_value("Content-Length").c_str(), nullptr, 10) >
                         settings_.largest_body)
      return TooLarge();
    return ErrorAnswer(400, "invalid_argument", "the body of the request did not come whole, or not in time");
  }

  using BodyReader = std::function<std::optional<Answer>(std::string* body)>;

  void Serve(const httplib::Request& request, httplib::Response& response, const BodyReader& body) {
    const double begin = Steady();
    // Parts of an answer are not served; the library would cut them out of what we give it.
    const_cast<httplib::Request&>(request).ranges.clear();
    const std::string address =
        ClientAddress(request.remote_addr, ForwardedFor(request), settings_.trusted_proxies);
    Rights rights = anonymous_;
    bool body_read = false;
    const BodyReader read = [&](std::string* into) {
      body_read = true;
      return body ? body(into) : std::nullopt;
    };
    try {
      std::optional<Answer> answer = Admit(request, address, &rights);
      if (!answer) answer = Route(request, response, rights, read);
      if (!body_read) (void)read(nullptr);  // what follows on the connection is the next request
      if (answer) Say(std::move(*answer), response);
    } catch (const std::exception&) {
      Say(ErrorAnswer(500, "fatal", "the question could not be answered"), response);
    }
    if (!log_) return;
    log_({{"method", request.method},
          {"path", request.path},
          {"status", response.status},
          {"ms", std::round((Steady() - begin) * 1e6) / 1e3},
          {"address", address},
          {"role", rights.name}});
  }

  // Who it is, and whether they may ask now.
  std::optional<Answer> Admit(const httplib::Request& request, const std::string& address, Rights* rights) {
    std::optional<Answer> refusal;
    if (request.has_header("Authorization")) {
      const auto known = tokens_.Find(BearerOf(request.get_header_value("Authorization")));
      if (known) {
        *rights = *known;
        // Who has a token may do what everybody may.
        rights->read = rights->read || anonymous_.read;
        rights->metrics = rights->metrics || anonymous_.metrics;
      } else {
        refusal = Unauthorized("the token is not known");
      }
    }
    if (rights->trusted) return std::nullopt;
    const double wait = limit_.Take(address, Steady());
    if (wait == 0) return refusal;
    Answer answer =
        ErrorAnswer(429, "too_many_requests", "too many requests from this address; ask again later");
    answer.headers.emplace_back("Retry-After", std::to_string(static_cast<long>(std::ceil(wait))));
    return answer;
  }

  static Answer Unauthorized(const std::string& message) {
    Answer answer = ErrorAnswer(401, "unauthorized", message);
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }

  // None: the response is made.
  std::optional<Answer> Route(const httplib::Request& request, httplib::Response& response,
                              const Rights& rights, const BodyReader& read) {
    if (!request.path.starts_with(kApi)) return ServePage(request, response);
    Found found = FindRoute(request.method, request.path);
    if (found.route == nullptr) {
      if (found.allowed.empty()) return ErrorAnswer(404, "not_found", "there is no " + request.path);
      return NotAllowed(request.path, found.allowed);
    }
    if (!Satisfies(rights, found.route->needs)) {
      if (rights.name == "none") return Unauthorized("this needs a token: Authorization: Bearer TOKEN");
      return ErrorAnswer(403, "forbidden", "this token may not do that");
    }
    if (found.route->handler == nullptr) return ServeStream(request, response, rights);
    Request question{.segments = std::move(found.segments),
                     .query = {request.params.begin(), request.params.end()},
                     .accept = request.get_header_value("Accept"),
                     .content_type = MediaType(request.get_header_value("Content-Type")),
                     .rights = rights};
    if (found.route->method == "POST")
      if (auto refusal = read(&question.body)) return refusal;
    return (handlers_.*found.route->handler)(question);
  }

  std::optional<Answer> ServePage(const httplib::Request& request, httplib::Response& response) {
    if (request.method != "GET" && request.method != "HEAD") return NotAllowed(request.path, "GET, HEAD");
    const auto found = FindStatic(WebFiles(), request.path, request.get_header_value("Accept-Encoding"),
                                  request.get_header_value("If-None-Match"));
    if (!found) return ErrorAnswer(404, "not_found", "there is no " + request.path);
    response.status = found->status;
    response.set_header("ETag", std::string(found->file->etag));
    response.set_header("Cache-Control", "no-cache");
    response.set_header("Vary", "Accept-Encoding");
    response.set_header("Content-Security-Policy", kPagePolicy);
    if (found->status == 304) return std::nullopt;
    if (found->gzip) response.set_header("Content-Encoding", "gzip");
    response.set_content_provider(
        found->body.size(), std::string(found->file->type),
        [body = found->body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          if (offset > body.size() || length > body.size() - offset) return false;
          return sink.write(body.data() + offset, length);
        });
    return std::nullopt;
  }

  std::optional<Answer> ServeStream(const httplib::Request& request, httplib::Response& response,
                                    const Rights& rights) {
    if (!request.params.empty()) return ErrorAnswer(400, "invalid_argument", "there are no parameters here");
    response.status = 200;
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Accel-Buffering", "no");  // for proxies that gather
    if (request.method == "HEAD") {
      response.set_header("Content-Type", kEventStream);
      return std::nullopt;
    }
    auto stream = live_.Watch(rights);
    if (!stream) {
      Answer answer = ErrorAnswer(503, "retry", "as many watch as may (gateway.streams); ask again later");
      answer.headers.emplace_back("Retry-After", "10");
      return answer;
    }
    response.set_chunked_content_provider(kEventStream, [stream](std::size_t, httplib::DataSink& sink) {
      std::string text;
      if (!stream->Next(&text)) {
        sink.done();
        return true;
      }
      return sink.write(text.data(), text.size());
    });
    return std::nullopt;
  }

  const settings::GatewaySettings settings_;
  const Tokens tokens_;
  Handlers& handlers_;
  LiveFeed& live_;
  const AccessLog log_;
  RateLimit limit_;
  Rights anonymous_;
  std::unique_ptr<httplib::Server> http_;
  int listening_ = -1;
  std::string url_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

const std::string& HttpServer::url() const { return impl_->url(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const settings::GatewaySettings& settings,
                                                      Tokens tokens, Handlers& handlers, LiveFeed& live,
                                                      AccessLog log) {
  auto impl = std::make_unique<Impl>(settings, std::move(tokens), handlers, live, std::move(log));
  if (Status status = impl->Start(); !status.ok()) return status;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace cobblestone::gateway
