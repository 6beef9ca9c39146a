// Fetches one resource of a project over HTTP or HTTPS into a file, with libcurl.
//
// What a hub fetches from is not trusted. Only http and https are followed, also in redirects, and https never leads to
// http. Addresses of the own network are not connected to (FetcherOptions::private_addresses), so a project cannot make
// the hub read a service behind its firewall. Time, size and redirects are bounded. A message never contains
// credentials or the query of a URL.
//
// Threads: one at a time for each Fetcher.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

struct FetcherOptions {
  std::string user_agent = "Cobblestone-hub";
  std::string ca_file{};           // PEM; empty: the system's certificates
  bool private_addresses = false;  // connect to loopback, link-local and private networks, too
};

struct FetchLimits {
  long connect_ms = 30'000;
  // 1.8 GB from a server with an average of 1 MB/s.
  long total_ms = 30 * 60 * 1000;
  // Fewer bytes a second for so many seconds end the fetch.
  long low_speed_bytes = 1000;
  long low_speed_seconds = 60;
  std::uint64_t largest = std::uint64_t{16} << 30;  // as transferred
  long redirects = 5;
};

// Of HTTP authentication, for projects that protect their statistics. Sent to the host of the URL alone, not to one
// that it redirects to.
struct FetchCredentials {
  std::string user{};
  std::string password{};
};

struct FetchRequest {
  std::string url{};
  std::string path{};  // the file to create; an existing one is replaced
  // Of the copy that the caller has; empty: fetch in full.
  std::string etag{};
  std::string last_modified{};
  const FetchCredentials* credentials = nullptr;
};

enum class FetchOutcome : std::uint8_t { kFetched, kNotModified, kFailed };

// Numbers never change: they are stored and exported as metrics.
enum class FetchFailure : std::uint8_t {
  kNone = 0,
  kForbiddenUrl = 1,  // no http or https, credentials in the URL, a private address
  kUnreachable = 2,   // no address, no connection
  kTls = 3,
  kTimeout = 4,  // too slow in all, or for too long
  kTooLarge = 5,
  kIncomplete = 6,    // fewer bytes than announced, or broken transfer coding
  kRedirects = 7,     // too many, or a loop
  kMissing = 8,       // 404, 410
  kRefused = 9,       // 401, 403, 407: a password, or a block of this address
  kServerError = 10,  // 429, 5xx and all other statuses
  kPage = 11,         // a web page with status 200
  kPasswordPage = 12,
  kForeign = 13,  // content that is neither XML nor compressed XML
  kDisk = 14,
  kStopped = 15,  // by the stop token
  kNotModifiedWithoutCopy = 16,
};
std::string_view FetchFailureName(FetchFailure failure);

struct FetchResult {
  FetchOutcome outcome = FetchOutcome::kFailed;
  FetchFailure failure = FetchFailure::kNone;
  long status = 0;  // of HTTP; 0: no answer
  // Where a permanent redirect (301, 308) leads, without its query; empty: none. The project has moved.
  std::string moved_to{};
  std::string etag{};
  std::string last_modified{};
  std::string retry_after{};
  std::uint64_t bytes = 0;
  std::string text{};  // for people: URL without query, and what happened
  // For everybody: what happened, without the URL, of which a part may be known to the hub alone. Empty: no failure.
  std::string cause{};
};

class Fetcher {
 public:
  // kFatal: libcurl cannot be set up, or ca_file does not exist.
  static Result<std::unique_ptr<Fetcher>> Create(FetcherOptions options);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Waits until the fetch has ended or `stop` was requested (noticed within a second). kFetched: `path` has the whole
  // body, readable by its owner alone, and begins like XML or like compressed XML. Otherwise `path` does not exist.
  FetchResult Fetch(const FetchRequest& request, const FetchLimits& limits, const std::stop_token& stop = {});

 private:
  class Impl;
  explicit Fetcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "https://example.org/stats/user.gz" of "https://name:password@example.org/stats/user.gz?key=1": for messages.
std::string UrlForMessages(std::string_view url);

}  // namespace cobblestone::hub
