#include "services/hub/push/hub_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/secret_file.h"
#include "services/hub/feeds/fetch_schedule.h"

namespace cobblestone::hub {

namespace {

constexpr std::size_t kLargestTokenFile = 4096;
constexpr std::size_t kLargestReply = 1u << 20;

// The characters that a bearer token may have (RFC 6750).
bool IsTokenCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-._~+/=").find(c) != std::string_view::npos;
}

// The header with the token.
Result<std::string> Authorization(const std::string& path) {
  auto text = ReadSecretFile("hub.push_token_file", path, kLargestTokenFile);
  if (!text.ok()) return text.status();
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' '))
    text->pop_back();
  const bool usable = !text->empty() && std::all_of(text->begin(), text->end(), IsTokenCharacter);
  std::string header = "Authorization: Bearer " + *text;
  Wipe(&*text);
  if (usable) return header;
  Wipe(&header);
  return Status::InvalidArgument("hub.push_token_file: " + path +
                                 " has to contain one token and nothing else");
}

struct PushTransfer {
  HubReply reply;
  bool too_long = false;
  const std::stop_token* stop = nullptr;
};

// A count other than `size` ends the transfer.
std::size_t OnReplyBytes(char* bytes, std::size_t one, std::size_t size, void* at) {
  auto& transfer = *static_cast<PushTransfer*>(at);
  transfer.too_long = size > kLargestReply - transfer.reply.body.size();
  if (transfer.too_long) return 0;
  transfer.reply.body.append(bytes, size);
  return one * size;
}

// The value of a header line with this name, in lower case and with its colon; none: another header.
std::optional<std::string> ValueOf(std::string_view line, std::string_view name) {
  const bool same =
      line.size() > name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
        return a == std::tolower(static_cast<unsigned char>(b));
      });
  if (!same) return std::nullopt;
  std::string value(line.substr(name.size()));
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!value.empty() && blank(value.back())) value.pop_back();
  value.erase(value.begin(), std::find_if_not(value.begin(), value.end(), blank));
  return value;
}

double UnixTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::size_t OnReplyHeader(char* bytes, std::size_t one, std::size_t size, void* at) {
  const std::string_view line(bytes, one * size);
  HubReply& reply = static_cast<PushTransfer*>(at)->reply;
  if (const auto value = ValueOf(line, "date:")) {
    const std::time_t date = ::curl_getdate(value->c_str(), nullptr);
    if (date > 0) reply.date = static_cast<double>(date);
  } else if (const auto pause = ValueOf(line, "retry-after:")) {
    reply.retry_after = RetryAfter(*pause, UnixTime()).value_or(0);
  }
  return line.size();
}

int OnPushProgress(void* at, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<PushTransfer*>(at)->stop->stop_requested() ? 1 : 0;
}

struct FreeList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void AddHeader(HeaderList& list, const std::string& line) {
  if (curl_slist* longer = ::curl_slist_append(list.get(), line.c_str()); longer != nullptr) {
    (void)list.release();
    list.reset(longer);
  }
}

}  // namespace

HubClient::HubClient(HubClientOptions options) : options_(std::move(options)) {
  static const CURLcode kStarted = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)kStarted;  // curl_easy_init() fails if it failed
}

Result<HubReply> HubClient::Get(const std::string& path, const std::stop_token& stop) const {
  return Ask(path, nullptr, stop);
}

Result<HubReply> HubClient::Post(const std::string& path, std::string_view body,
                                 const std::stop_token& stop) const {
  return Ask(path, &body, stop);
}

Result<HubReply> HubClient::Ask(const std::string& path, const std::string_view* body,
                                const std::stop_token& stop) const {
  auto authorization = Authorization(options_.token_file);
  if (!authorization.ok()) return authorization.status();
  const std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> curl(::curl_easy_init(), ::curl_easy_cleanup);
  if (!curl) return Status::Retry("libcurl cannot be used");
  const std::string url = options_.url + path;
  PushTransfer transfer{.reply = {}, .stop = &stop};
  char error[CURL_ERROR_SIZE] = "";
  HeaderList headers;
  AddHeader(headers, *authorization);
  Wipe(&*authorization);
  const auto set = [&curl](CURLoption option, auto value) { ::curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.whole.count()));
  set(CURLOPT_ACCEPT_ENCODING, "gzip");
  set(CURLOPT_USERAGENT, "cobblestone");
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(error));
  set(CURLOPT_WRITEFUNCTION, &OnReplyBytes);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_HEADERFUNCTION, &OnReplyHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &OnPushProgress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
  if (body != nullptr) {
    AddHeader(headers, "Content-Type: application/x-protobuf");
    AddHeader(headers, "Expect:");  // the body follows at once
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    set(CURLOPT_POSTFIELDS, body->data());
  }
  set(CURLOPT_HTTPHEADER, headers.get());
  const CURLcode code = ::curl_easy_perform(curl.get());
  for (curl_slist* line = headers.get(); line != nullptr; line = line->next)
    std::fill_n(line->data, std::char_traits<char>::length(line->data), '\0');
  if (transfer.too_long) return Status::Retry(options_.url + ": the answer is too long");
  if (code != CURLE_OK)
    return Status::Retry(options_.url + ": " + (*error != '\0' ? error : ::curl_easy_strerror(code)));
  long status = 0;
  ::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<int>(status);
  return std::move(transfer.reply);
}

}  // namespace cobblestone::hub
