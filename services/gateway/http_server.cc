#include "services/gateway/http_server.h"

#include <time.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/descriptors.h"
#include "common/http/request_head.h"
#include "common/http/server.h"
#include "services/gateway/client_address.h"
#include "services/gateway/listen_address.h"
#include "services/gateway/rights/rate_limit.h"
#include "services/gateway/routes.h"
#include "services/gateway/static_files.h"

namespace cobblestone::gateway {
namespace {

constexpr std::string_view kApi = "/api/";
constexpr const char* kEventStream = "text/event-stream";
// Number of largest batches that may be in memory at the same time.
constexpr std::size_t kLargestBodies = 4;
// Each client may use a quarter of the streams.
constexpr std::size_t kStreamShare = 4;
// A request is charged as one request of its address for each multiple of these values that it uses.
constexpr double kCpuPerRequest = 0.005;  // s
constexpr double kBytesPerRequest = 256 * 1024;

// The page uses only its own files: it loads nothing from elsewhere, and no other page may show it in a
// frame.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src "
    "'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
constexpr const char* kAnswerPolicy = "default-src 'none'; frame-ancestors 'none'";

double Steady() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU time of the calling thread, s.
double CpuTime() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string MediaType(std::string_view header) {
  std::string type(header.substr(0, header.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return type;
}

// All X-Forwarded-For fields, joined: a proxy may add its own field after existing ones.
std::string ForwardedFor(const http::Head& head) {
  std::string all;
  for (const auto& [name, value] : head.fields)
    if (name == "x-forwarded-for") all += (all.empty() ? "" : ",") + value;
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

Answer Unauthorized(const std::string& message) {
  Answer answer = ErrorAnswer(401, "unauthorized", message);
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

Answer NotAllowed(const std::string& path, const std::string& allowed) {
  Answer answer = ErrorAnswer(405, "method_not_allowed", path + " takes " + allowed);
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

// A stream of live figures that counts against its client's limit. Ends when `may_watch`, called before each
// piece, returns false.
class StreamProducer final : public http::Producer {
 public:
  StreamProducer(std::shared_ptr<LiveStream> stream, std::function<bool()> may_watch,
                 std::function<void()> over)
      : stream_(std::move(stream)), may_watch_(std::move(may_watch)), over_(std::move(over)) {}
  ~StreamProducer() override {
    stream_.reset();
    over_();
  }
  bool Next(std::string* piece) override { return stream_->Next(piece) && may_watch_(); }

 private:
  std::shared_ptr<LiveStream> stream_;
  const std::function<bool()> may_watch_;
  const std::function<void()> over_;
};

}  // namespace

class HttpServer::Impl final : public http::Service {
 public:
  Impl(const settings::GatewaySettings& settings, TokenStore& tokens, Handlers& handlers, LiveFeed& live,
       AccessLog log)
      : settings_(settings),
        tokens_(tokens),
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
    checks_host_ = !Tls() && IsLoopback(address->host);
    const std::size_t connections =
        DescriptorsFor(settings_.connections);  // descriptors that the pipeline needs are reserved
    if (connections == 0)
      return Status::InvalidArgument(
          "gateway: the limit of open files (ulimit -n, LimitNOFILE) is too low to serve "
          "clients; the pipeline alone needs " +
          std::to_string(kReservedDescriptors));
    http::ServerOptions options{.host = address->host,
                                .port = address->port,
                                .connections = connections,
                                .connections_per_address = settings_.connections_per_address,
                                .proxies = settings_.trusted_proxies,
                                .limits = {.head = Milliseconds(settings_.timeout),
                                           .body = Milliseconds(settings_.timeout),
                                           .answer = Milliseconds(settings_.timeout),
                                           .idle = Milliseconds(settings_.timeout)},
                                .bodies = kLargestBodies * settings_.largest_body,
                                .producer_threads = std::max<std::size_t>(settings_.streams, 1)};
    if (Tls())
      options.tls = http::TlsFiles{.certificate = settings_.tls_certificate,
                                   .key = settings_.tls_key,
                                   .certificate_option = "gateway.tls_certificate",
                                   .key_option = "gateway.tls_key"};
    auto server = http::Server::Start(std::move(options), *this);
    if (!server.ok()) {
      if (Tls() && server.status().message().starts_with("gateway.")) return server.status();
      return Status::InvalidArgument(
          "cannot listen at " + settings_.listen + ": " + server.status().message() +
          "; another process may use the address. Set another address in gateway.listen; port 0 "
          "selects a free port");
    }
    server_ = std::move(*server);
    address->port = server_->port();
    url_ = UrlOf(*address, Tls());
    return Status::Ok();
  }

  ~Impl() override {
    live_.Stop();
    server_.reset();
  }

  [[nodiscard]] const std::string& url() const { return url_; }

  http::Plan OnRequest(const http::Head& head) override {
    Asked asked{.begin = Steady(),
                .address = ClientAddress(head.peer, ForwardedFor(head), settings_.trusted_proxies),
                .rights = anonymous_};
    http::Plan plan;
    if (auto refusal = Admit(head, &asked)) return Refused(head, asked, std::move(*refusal));
    plan.trusted = asked.rights.trusted;
    plan.owner = asked.rights.sender.owner();
    Found found = FindRoute(head.method, head.path);
    if (!head.path.starts_with(kApi) && found.route == nullptr && found.allowed.empty()) {
      auto page = ServePage(head);
      if (!page.ok()) return Refused(head, asked, ErrorOf(head, page.status()));
      plan.answer = [this, head, asked, page = *page](std::string) { return Done(head, asked, page, 0); };
      return plan;
    }
    if (found.route == nullptr)
      return Refused(head, asked,
                     found.allowed.empty() ? ErrorAnswer(404, "not_found", "not found: " + head.path)
                                           : NotAllowed(head.path, found.allowed));
    if (!Satisfies(asked.rights, found.route->needs))
      return Refused(head, asked,
                     asked.rights.name == "none"
                         ? Unauthorized("a token is required: Authorization: Bearer TOKEN")
                         : ErrorAnswer(403, "forbidden", "this token does not allow this action"));
    if (found.route->handler == nullptr) {
      plan.answer = [this, head, asked](std::string) { return ServeStream(head, asked); };
      return plan;
    }
    const bool changes = found.route->method == "POST";
    plan.pool = changes ? http::Pool::kChanges : http::Pool::kQuestions;
    if (found.route->takes_body) {
      // Before the body is read and costs memory.
      if (auto answer = handlers_.ThrottledEvents(asked.rights))
        return Refused(head, asked, std::move(*answer));
      plan.largest_body = settings_.largest_body;
      plan.codings = true;
    }
    plan.answer = [this, head, asked, route = found.route,
                   segments = std::move(found.segments)](std::string body) mutable {
      const double cpu = CpuTime();
      Request question{.segments = std::move(segments),
                       .query = head.query,
                       .accept = std::string(head.Field("accept")),
                       .content_type = MediaType(head.Field("content-type")),
                       .body = std::move(body),
                       .rights = asked.rights};
      http::Response answer = Say(std::invoke(route->handler, handlers_, question));
      return Done(head, asked, std::move(answer), CpuTime() - cpu);
    };
    return plan;
  }

  http::Response OnError(int status, const std::string& message) override {
    if (status == 413)
      return Say(ErrorAnswer(413, "too_large", message + " (gateway.largest_body); send smaller batches"));
    if (status == 503) return Say(ErrorAnswer(503, "retry", message));
    return Say(ErrorAnswer(status, status < 500 ? "invalid_argument" : "fatal", message));
  }

 private:
  // One request in progress.
  struct Asked {
    double begin = 0;  // s, steady
    std::string address;
    Rights rights;
  };

  [[nodiscard]] bool Tls() const { return !settings_.tls_certificate.empty(); }

  static std::chrono::milliseconds Milliseconds(settings::Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
  }

  // Whether the Host field is allowed. A page of another site can make a browser on this machine call a
  // loopback address under that site's name (DNS rebinding); no legitimate client uses a name that is not
  // this machine's. TLS and proxies check names themselves.
  [[nodiscard]] bool KnowsHost(const http::Head& head) const {
    if (!checks_host_ && hosts_.empty()) return true;
    if (head.host.empty()) return true;  // HTTP/1.0: not a browser
    const auto peer = ParseIpAddress(head.peer);
    if (peer && std::any_of(settings_.trusted_proxies.begin(), settings_.trusted_proxies.end(),
                            [&](const IpNetwork& network) { return network.Contains(*peer); }))
      return true;
    std::string name(http::HostWithoutPort(head.host));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (checks_host_ && IsLoopback(name)) return true;
    return std::find(hosts_.begin(), hosts_.end(), name) != hosts_.end();
  }

  // Determines the client's rights, and whether the client may send a request now.
  std::optional<Answer> Admit(const http::Head& head, Asked* asked) {
    if (!KnowsHost(head))
      return ErrorAnswer(421, "misdirected",
                         "unknown host name; add names other than localhost to gateway.hosts, and a proxy to "
                         "gateway.trusted_proxies");
    std::optional<Answer> refusal;
    if (head.HasField("authorization")) {
      const auto known = tokens_.Find(BearerOf(head.Field("authorization")));
      if (known) {
        asked->rights = *known;
        // A token includes the rights of anonymous clients.
        asked->rights.read = asked->rights.read || anonymous_.read;
        asked->rights.metrics = asked->rights.metrics || anonymous_.metrics;
      } else {
        refusal = Unauthorized("unknown token");
      }
    }
    if (asked->rights.trusted) return std::nullopt;
    const double wait = limit_.Take(asked->address, Steady());
    if (wait == 0) return refusal;
    Answer answer =
        ErrorAnswer(429, "too_many_requests", "too many requests from this address; try again later");
    answer.headers.emplace_back("Retry-After", std::to_string(static_cast<long>(std::ceil(wait))));
    return answer;
  }

  // Adds the header fields of every response.
  void AddUsualFields(http::Response* response) const {
    response->headers.insert(response->headers.end(), {{"X-Content-Type-Options", "nosniff"},
                                                       {"X-Frame-Options", "DENY"},
                                                       {"Referrer-Policy", "no-referrer"},
                                                       {"Cross-Origin-Resource-Policy", "same-origin"},
                                                       {"Cross-Origin-Opener-Policy", "same-origin"}});
    if (Tls()) response->headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
  }

  http::Response Say(Answer answer) const {
    http::Response response{.status = answer.status,
                            .type = std::move(answer.type),
                            .headers = std::move(answer.headers),
                            .body = std::move(answer.body)};
    response.headers.emplace_back("Content-Security-Policy", kAnswerPolicy);
    response.headers.emplace_back("Cache-Control", "no-store");
    AddUsualFields(&response);
    return response;
  }

  // Charges the cost of a request beyond the initial one, and logs the request. `cpu` in s.
  http::Response Done(const http::Head& head, const Asked& asked, http::Response response, double cpu) {
    const std::size_t bytes = response.fixed_body.empty() ? response.body.size() : response.fixed_body.size();
    const double cost = cpu / kCpuPerRequest + static_cast<double>(bytes) / kBytesPerRequest;
    if (!asked.rights.trusted && cost > 1) limit_.Charge(asked.address, cost - 1);
    if (log_)
      log_({{"method", head.method},
            {"path", head.path},
            {"status", response.status},
            {"ms", std::round((Steady() - asked.begin) * 1e6) / 1e3},
            {"address", asked.address},
            {"role", asked.rights.name}});
    return response;
  }

  http::Plan Refused(const http::Head& head, const Asked& asked, Answer answer) {
    http::Plan plan;
    plan.refusal = Done(head, asked, Say(std::move(answer)), 0);
    return plan;
  }

  static Answer ErrorOf(const http::Head& head, const Status& status) {
    if (status.code() == StatusCode::kInvalidArgument) return NotAllowed(head.path, "GET, HEAD");
    return ErrorAnswer(404, "not_found", "not found: " + head.path);
  }

  // kInvalidArgument: another method. kNotFound: the file does not exist.
  Result<http::Response> ServePage(const http::Head& head) const {
    if (head.method != "GET" && head.method != "HEAD") return Status::InvalidArgument("");
    const auto found =
        FindStatic(WebFiles(), head.path, head.Field("accept-encoding"), head.Field("if-none-match"));
    if (!found) return Status::NotFound("");
    http::Response response{.status = found->status};
    response.headers = {{"ETag", std::string(found->file->etag)},
                        {"Cache-Control", "no-cache"},
                        {"Vary", "Accept-Encoding"},
                        {"Content-Security-Policy", kPagePolicy}};
    AddUsualFields(&response);
    if (found->status == 304) return response;
    response.type = std::string(found->file->type);
    if (found->gzip) response.headers.emplace_back("Content-Encoding", "gzip");
    response.fixed_body = found->body;
    return response;
  }

  http::Response ServeStream(const http::Head& head, const Asked& asked) {
    const auto refuse = [&](Answer answer) { return Done(head, asked, Say(std::move(answer)), 0); };
    if (!head.query.empty())
      return refuse(ErrorAnswer(400, "invalid_argument", "parameters are not allowed here"));
    http::Response response{.type = kEventStream};
    response.headers = {{"Cache-Control", "no-store"},
                        {"X-Accel-Buffering", "no"}};  // for proxies that buffer
    AddUsualFields(&response);
    if (head.method == "HEAD") return Done(head, asked, std::move(response), 0);
    const auto busy = [&] {
      Answer answer = ErrorAnswer(503, "retry", "too many open streams (gateway.streams); try again later");
      answer.headers.emplace_back("Retry-After", "10");
      return refuse(std::move(answer));
    };
    if (!asked.rights.trusted && !TakeStream(asked.address)) return busy();
    const std::function<void()> over = [this, asked] {
      if (!asked.rights.trusted) GiveStream(asked.address);
    };
    auto stream = live_.Watch(asked.rights);
    if (!stream) {
      over();
      return busy();
    }
    // A token may be revoked or get another role while its stream runs.
    std::function<bool()> may_watch = [] { return true; };
    if (head.HasField("authorization"))
      may_watch = [this, bearer = std::string(BearerOf(head.Field("authorization"))),
                   role = asked.rights.name] {
        const auto known = tokens_.Find(bearer);
        return known && known->name == role;
      };
    response.producer = std::make_shared<StreamProducer>(std::move(stream), std::move(may_watch), over);
    return Done(head, asked, std::move(response), 0);
  }

  bool TakeStream(const std::string& address) {
    const std::lock_guard lock(mutex_);
    std::size_t& mine = streams_[address];
    if (mine >= std::max<std::size_t>(settings_.streams / kStreamShare, 1)) return false;
    ++mine;
    return true;
  }
  void GiveStream(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto mine = streams_.find(address);
    if (--mine->second == 0) streams_.erase(mine);
  }

  static std::vector<std::string> NamesOf(const std::string& hosts) {
    std::vector<std::string> names(1);
    for (const char c : hosts) {
      if (c == ',') {
        names.emplace_back();
      } else if (c != ' ') {
        names.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    std::erase(names, "");
    return names;
  }

  const settings::GatewaySettings settings_;
  const std::vector<std::string> hosts_{NamesOf(settings_.hosts)};
  TokenStore& tokens_;
  Handlers& handlers_;
  LiveFeed& live_;
  const AccessLog log_;
  RateLimit limit_;
  Rights anonymous_;
  bool checks_host_ = false;
  std::mutex mutex_;
  std::map<std::string, std::size_t> streams_;  // by address; guarded by mutex_
  std::string url_;
  std::unique_ptr<http::Server> server_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

const std::string& HttpServer::url() const { return impl_->url(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const settings::GatewaySettings& settings,
                                                      TokenStore& tokens, Handlers& handlers, LiveFeed& live,
                                                      AccessLog log) {
  auto impl = std::make_unique<Impl>(settings, tokens, handlers, live, std::move(log));
  if (Status status = impl->Start(); !status.ok()) return status;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace cobblestone::gateway
