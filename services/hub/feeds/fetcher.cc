#include "services/hub/feeds/fetcher.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/ip_network.h"
#include "services/hub/feeds/document.h"
#include "services/hub/feeds/feed_input.h"

namespace cobblestone::hub {
namespace {

constexpr std::size_t kExaminedBytes = 4096;
constexpr long kReceiveBytes = 256L << 10;  // at a time; libcurl takes up to 512 KiB

// libcurl's own state of the process, which lives as long as the process.
bool StartCurl() {
  static const bool kStarted = ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return kStarted;
}

struct FailureName {
  FetchFailure failure;
  std::string_view name;
};
constexpr std::array kFailureNames = {
    FailureName{FetchFailure::kNone, "none"},
    FailureName{FetchFailure::kForbiddenUrl, "forbidden_url"},
    FailureName{FetchFailure::kUnreachable, "unreachable"},
    FailureName{FetchFailure::kTls, "tls"},
    FailureName{FetchFailure::kTimeout, "timeout"},
    FailureName{FetchFailure::kTooLarge, "too_large"},
    FailureName{FetchFailure::kIncomplete, "incomplete"},
    FailureName{FetchFailure::kRedirects, "redirects"},
    FailureName{FetchFailure::kMissing, "missing"},
    FailureName{FetchFailure::kRefused, "refused"},
    FailureName{FetchFailure::kServerError, "server_error"},
    FailureName{FetchFailure::kPage, "page"},
    FailureName{FetchFailure::kPasswordPage, "password_page"},
    FailureName{FetchFailure::kForeign, "foreign"},
    FailureName{FetchFailure::kDisk, "disk"},
    FailureName{FetchFailure::kStopped, "stopped"},
    FailureName{FetchFailure::kNotModifiedWithoutCopy, "not_modified_without_copy"},
};

// Networks whose services trust who can reach them.
bool IsPrivate(const IpAddress& address) {
  static const std::vector<IpNetwork> kNetworks = [] {
    std::vector<IpNetwork> networks;
    for (const char* text :
         {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
          "192.168.0.0/16", "224.0.0.0/3", "::/128", "::1/128", "fc00::/7", "fe80::/10", "ff00::/8"})
      networks.push_back(*IpNetwork::Parse(text));
    return networks;
  }();
  // An IPv4 address behind the prefix of a translator (NAT64) or tunnel (6to4). Hubs with IPv6 alone reach all IPv4 servers so,
  // and an IPv4 address is stored behind ::ffff.
  struct Carrier {
    IpNetwork network;
    std::ptrdiff_t at;
  };
  static const std::array<Carrier, 2> kCarriers = {Carrier{*IpNetwork::Parse("64:ff9b::/96"), 12},
                                                   Carrier{*IpNetwork::Parse("2002::/16"), 2}};
  for (const Carrier& carrier : kCarriers) {
    if (!carrier.network.Contains(address)) continue;
    IpAddress carried{};
    carried[10] = carried[11] = 0xff;
    std::copy_n(address.begin() + carrier.at, 4, carried.begin() + 12);
    return IsPrivate(carried);
  }
  return std::any_of(kNetworks.begin(), kNetworks.end(),
                     [&](const IpNetwork& network) { return network.Contains(address); });
}

std::optional<IpAddress> AddressOf(const curl_sockaddr& socket) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (socket.family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(&socket.addr)->sin_addr;
  } else if (socket.family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(&socket.addr)->sin6_addr;
  }
  if (bytes == nullptr || ::inet_ntop(socket.family, bytes, text.data(), text.size()) == nullptr)
    return std::nullopt;
  return ParseIpAddress(text.data());
}

FetchFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_OK: return FetchFailure::kNone;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT: return FetchFailure::kForbiddenUrl;
    case CURLE_OPERATION_TIMEDOUT: return FetchFailure::kTimeout;
    case CURLE_FILESIZE_EXCEEDED: return FetchFailure::kTooLarge;
    case CURLE_TOO_MANY_REDIRECTS: return FetchFailure::kRedirects;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE: return FetchFailure::kTls;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: return FetchFailure::kUnreachable;
    default: return FetchFailure::kIncomplete;
  }
}

FetchFailure FailureOfStatus(long status) {
  if (status == 200 || status == 304) return FetchFailure::kNone;
  if (status == 404 || status == 410) return FetchFailure::kMissing;
  if (status == 401 || status == 403 || status == 407) return FetchFailure::kRefused;
  return FetchFailure::kServerError;
}

// A URL of a request: http or https, without credentials.
bool IsAllowedUrl(const std::string& url, std::string* scheme) {
  CURLU* const parsed = ::curl_url();
  char* part = nullptr;
  bool allowed = parsed != nullptr && ::curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  if (allowed && ::curl_url_get(parsed, CURLUPART_SCHEME, &part, 0) == CURLUE_OK) {
    *scheme = part;
    ::curl_free(part);
  }
  allowed = allowed && (*scheme == "http" || *scheme == "https");
  if (allowed && ::curl_url_get(parsed, CURLUPART_USER, &part, 0) == CURLUE_OK) {
    ::curl_free(part);
    allowed = false;
  }
  ::curl_url_cleanup(parsed);
  return allowed;
}

// The value of a header line, if it has this name (lower case).
std::optional<std::string> HeaderValue(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  for (std::size_t i = 0; i < name.size(); ++i)
    if ((line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]) != name[i]) return std::nullopt;
  line.remove_prefix(name.size() + 1);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::string();
  return std::string(line.substr(begin, line.find_last_not_of(" \t\r\n") - begin + 1));
}

// What the callbacks of one transfer work on.
struct Transfer {
  CURL* curl = nullptr;
  int file = -1;
  std::uint64_t largest = 0;
  std::uint64_t bytes = 0;
  bool private_addresses = false;
  std::stop_token stop{};
  FetchResult* result = nullptr;
  bool moved = false;                          // by a permanent redirect
  FetchFailure failure = FetchFailure::kNone;  // found by a callback, which then ends the transfer
  std::string problem{};
};

std::size_t WriteBody(char* data, std::size_t size, std::size_t count, void* context) {
  auto* const transfer = static_cast<Transfer*>(context);
  const std::size_t length = size * count;
  transfer->bytes += length;
  if (transfer->bytes > transfer->largest) {
    transfer->failure = FetchFailure::kTooLarge;
    return CURL_WRITEFUNC_ERROR;
  }
  for (std::size_t at = 0; at < length;) {
    const ssize_t wrote = ::write(transfer->file, data + at, length - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      transfer->failure = FetchFailure::kDisk;
      transfer->problem = std::strerror(errno);
      return CURL_WRITEFUNC_ERROR;
    }
    at += static_cast<std::size_t>(wrote);
  }
  return length;
}

std::size_t ReadHeader(char* data, std::size_t size, std::size_t count, void* context) {
  auto* const transfer = static_cast<Transfer*>(context);
  FetchResult& result = *transfer->result;
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    // A new answer: what the one that redirected said is not about the file.
    result.etag.clear();
    result.last_modified.clear();
    result.retry_after.clear();
  } else if (const auto etag = HeaderValue(line, "etag")) {
    result.etag = *etag;
  } else if (const auto modified = HeaderValue(line, "last-modified")) {
    result.last_modified = *modified;
  } else if (const auto retry = HeaderValue(line, "retry-after")) {
    result.retry_after = *retry;
  } else if (HeaderValue(line, "location")) {
    long status = 0;
    ::curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    transfer->moved = transfer->moved || status == 301 || status == 308;
  }
  return size * count;
}

int NoteProgress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto* const transfer = static_cast<Transfer*>(context);
  if (!transfer->stop.stop_requested()) return 0;
  transfer->failure = FetchFailure::kStopped;
  return 1;
}

curl_socket_t OpenSocket(void* context, curlsocktype, curl_sockaddr* address) {
  auto* const transfer = static_cast<Transfer*>(context);
  const std::optional<IpAddress> ip = AddressOf(*address);
  if (!transfer->private_addresses && (!ip || IsPrivate(*ip))) {
    transfer->failure = FetchFailure::kForbiddenUrl;
    transfer->problem = "its address is in a private network";
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// What the fetched file begins with, uncompressed.
FetchFailure ExamineFile(const std::string& path) {
  const auto input = FeedInput::OpenFile(path, {});
  if (!input.ok()) return FetchFailure::kDisk;
  std::string start(kExaminedBytes, '\0');
  std::size_t size = 0;
  for (std::size_t got = 1; got > 0 && size < start.size(); size += got)
    got = (*input)->Read(start.data() + size, start.size() - size);
  start.resize(size);
  if (IsWebPage(start)) {
    return start.find("type=\"password\"") != std::string::npos ||
                   start.find("type='password'") != std::string::npos ||
                   start.find("type=password") != std::string::npos
               ? FetchFailure::kPasswordPage
               : FetchFailure::kPage;
  }
  // An empty or truncated file is for the reader, which names file and line.
  const std::size_t begin = start.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const std::size_t first = start.find_first_not_of(" \t\r\n", begin);
  if (first != std::string::npos && start[first] != '<') return FetchFailure::kForeign;
  return (*input)->problem() == FileProblem::kForeignArchive ? FetchFailure::kForeign : FetchFailure::kNone;
}

std::string_view WordsOfFailure(FetchFailure failure) {
  switch (failure) {
    case FetchFailure::kPage: return "the server answered 200 with a web page";
    case FetchFailure::kPasswordPage: return "the server answered 200 with a page that asks for a password";
    case FetchFailure::kForeign: return "the content is neither XML nor gzip or zstd of XML";
    case FetchFailure::kTooLarge: return "the answer has more bytes than the limit";
    case FetchFailure::kStopped: return "stopped";
    default: return "";
  }
}

}  // namespace

class Fetcher::Impl {
 public:
  Impl(FetcherOptions options, CURL* curl) : options_(std::move(options)), curl_(curl) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { ::curl_easy_cleanup(curl_); }

  FetchResult Fetch(const FetchRequest& request, const FetchLimits& limits, const std::stop_token& stop) {
    FetchResult result;
    result.text = UrlForMessages(request.url);
    ::unlink(request.path.c_str());
    std::string scheme;
    if (!IsAllowedUrl(request.url, &scheme))
      return Failed(std::move(result), FetchFailure::kForbiddenUrl,
                    "only http and https without credentials");
    Transfer transfer{.curl = curl_,
                      .largest = limits.largest,
                      .private_addresses = options_.private_addresses,
                      .stop = stop,
                      .result = &result};
    transfer.file = ::open(request.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (transfer.file < 0) return Failed(std::move(result), FetchFailure::kDisk, std::strerror(errno));
    const CURLcode code = Perform(request, limits, scheme, &transfer);
    const bool closed = ::fsync(transfer.file) == 0;
    ::close(transfer.file);
    result = Judge(std::move(result), transfer, code, closed, request.path);
    if (result.outcome != FetchOutcome::kFetched) ::unlink(request.path.c_str());
    return result;
  }

 private:
  static FetchResult Failed(FetchResult result, FetchFailure failure, std::string_view what) {
    result.outcome = FetchOutcome::kFailed;
    result.failure = failure;
    const std::string_view words = what.empty() ? WordsOfFailure(failure) : what;
    result.text += ": ";
    result.text += words;
    result.cause = words;
    return result;
  }

  template <class Value>
  void Set(CURLoption option, Value value) {
    ::curl_easy_setopt(curl_, option, value);
  }

  CURLcode Perform(const FetchRequest& request, const FetchLimits& limits, const std::string& scheme,
                   Transfer* transfer) {
    ::curl_easy_reset(curl_);
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_REDIR_PROTOCOLS_STR, scheme == "https" ? "https" : "http,https");
    Set(CURLOPT_FOLLOWLOCATION, 1L);
    Set(CURLOPT_MAXREDIRS, limits.redirects);
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_PROXY, "");  // not what the environment says
    Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    Set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    Set(CURLOPT_CONNECTTIMEOUT_MS, limits.connect_ms);
    Set(CURLOPT_TIMEOUT_MS, limits.total_ms);
    Set(CURLOPT_LOW_SPEED_LIMIT, limits.low_speed_bytes);
    Set(CURLOPT_LOW_SPEED_TIME, limits.low_speed_seconds);
    Set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limits.largest));
    Set(CURLOPT_BUFFERSIZE, kReceiveBytes);
    Set(CURLOPT_WRITEFUNCTION, WriteBody);
    Set(CURLOPT_WRITEDATA, transfer);
    Set(CURLOPT_HEADERFUNCTION, ReadHeader);
    Set(CURLOPT_HEADERDATA, transfer);
    Set(CURLOPT_XFERINFOFUNCTION, NoteProgress);
    Set(CURLOPT_XFERINFODATA, transfer);
    Set(CURLOPT_NOPROGRESS, 0L);
    Set(CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
    Set(CURLOPT_OPENSOCKETDATA, transfer);
    if (!options_.ca_file.empty()) Set(CURLOPT_CAINFO, options_.ca_file.c_str());
    if (request.credentials != nullptr) {
      Set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      Set(CURLOPT_USERNAME, request.credentials->user.c_str());
      Set(CURLOPT_PASSWORD, request.credentials->password.c_str());
    }
    curl_slist* headers = nullptr;
    if (!request.etag.empty())
      headers = ::curl_slist_append(headers, ("If-None-Match: " + request.etag).c_str());
    if (!request.last_modified.empty())
      headers = ::curl_slist_append(headers, ("If-Modified-Since: " + request.last_modified).c_str());
    if (headers == nullptr) headers = ::curl_slist_append(headers, "Cache-Control: no-cache");
    Set(CURLOPT_HTTPHEADER, headers);
    const CURLcode code = ::curl_easy_perform(curl_);
    ::curl_slist_free_all(headers);
    return code;
  }

  FetchResult Judge(FetchResult result, const Transfer& transfer, CURLcode code, bool closed,
                    const std::string& path) {
    ::curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &result.status);
    result.bytes = transfer.bytes;
    if (transfer.moved) {
      const char* url = nullptr;
      ::curl_easy_getinfo(curl_, CURLINFO_EFFECTIVE_URL, &url);
      result.moved_to = url == nullptr ? "" : UrlForMessages(url);
    }
    if (transfer.failure != FetchFailure::kNone)
      return Failed(std::move(result), transfer.failure, transfer.problem);
    if (code != CURLE_OK) return Failed(std::move(result), FailureOf(code), ::curl_easy_strerror(code));
    const FetchFailure by_status = FailureOfStatus(result.status);
    if (by_status != FetchFailure::kNone)
      return Failed(std::move(result), by_status, "the server answered " + std::to_string(result.status));
    if (result.status == 304) {
      result.outcome = FetchOutcome::kNotModified;
      return result;
    }
    if (!closed) return Failed(std::move(result), FetchFailure::kDisk, "the file cannot be written");
    const FetchFailure by_content = ExamineFile(path);
    if (by_content != FetchFailure::kNone) return Failed(std::move(result), by_content, "");
    result.outcome = FetchOutcome::kFetched;
    return result;
  }

  FetcherOptions options_;
  CURL* curl_;
};

std::string_view FetchFailureName(FetchFailure failure) {
  const auto* const found =
      std::find_if(kFailureNames.begin(), kFailureNames.end(),
                   [failure](const FailureName& entry) { return entry.failure == failure; });
  return found == kFailureNames.end() ? "none" : found->name;
}

Result<std::unique_ptr<Fetcher>> Fetcher::Create(FetcherOptions options) {
  if (!StartCurl()) return Status::Fatal("libcurl cannot be initialized");
  if (!options.ca_file.empty() && ::access(options.ca_file.c_str(), R_OK) != 0)
    return Status::Fatal("cannot read the certificates in " + options.ca_file + ": " + std::strerror(errno));
  CURL* const curl = ::curl_easy_init();
  if (curl == nullptr) return Status::Fatal("libcurl cannot be initialized");
  return std::unique_ptr<Fetcher>(new Fetcher(std::make_unique<Impl>(std::move(options), curl)));
}

Fetcher::Fetcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Fetcher::~Fetcher() = default;

FetchResult Fetcher::Fetch(const FetchRequest& request, const FetchLimits& limits,
                           const std::stop_token& stop) {
  return impl_->Fetch(request, limits, stop);
}

std::string UrlForMessages(std::string_view url) {
  std::string text(url.substr(0, url.find_first_of("?#")));
  const std::size_t begin = text.find("://");
  if (begin == std::string::npos) return Printable(text, 200);
  const std::size_t path = text.find('/', begin + 3);
  const std::size_t at = text.substr(0, path).rfind('@');
  if (at != std::string::npos && at > begin) text.erase(begin + 3, at - begin - 2);
  return Printable(text, 200);
}

}  // namespace cobblestone::hub
