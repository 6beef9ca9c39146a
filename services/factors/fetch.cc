#include "services/factors/fetch.h"

#include <curl/curl.h>

#include <memory>
#include <mutex>

namespace cobblestone::factors {
namespace {

struct Received {
  std::string body;
  std::size_t limit = 0;
  bool too_long = false;
};

// A count other than `size` ends the transfer.
std::size_t OnBody(char* bytes, std::size_t one, std::size_t size, void* at) {
  auto& received = *static_cast<Received*>(at);
  received.too_long = size > received.limit - received.body.size();
  if (received.too_long) return 0;
  received.body.append(bytes, size);
  return one * size;
}

int OnProgress(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0;
}

}  // namespace

Result<std::string> Fetch(const std::string& url, const std::string& ca_file, const FetchLimits& limits,
                          const std::atomic<bool>& stop) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (!curl) return Status::Retry("libcurl cannot be used");
  Received received{.body = {}, .limit = limits.bytes};
  char error[CURL_ERROR_SIZE] = "";
  const auto set = [&curl](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits.whole.count()));
  set(CURLOPT_ACCEPT_ENCODING, "gzip");
  set(CURLOPT_USERAGENT, "cobblestone");
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(error));
  set(CURLOPT_WRITEFUNCTION, &OnBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&received));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &OnProgress);
  set(CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&stop)));
  const CURLcode code = curl_easy_perform(curl.get());
  if (received.too_long)
    return Status::Retry(url + ": the answer is longer than " + std::to_string(limits.bytes) + " bytes");
  if (code != CURLE_OK)
    return Status::Retry(url + ": " + (*error != '\0' ? error : curl_easy_strerror(code)));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return Status::Retry(url + ": the answer has status " + std::to_string(status));
  return std::move(received.body);
}

}  // namespace cobblestone::factors
