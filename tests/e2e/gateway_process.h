// The built program with its gateway, used over HTTP like by any client.
#pragma once

#include <httplib.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

inline constexpr const char* kReadToken = "read-token-0123456789";
inline constexpr const char* kIngestToken = "ingest-token-0123456789";
inline constexpr const char* kOperateToken = "operate-token-0123456789";
inline constexpr const char* kMetricsToken = "metrics-token-0123456789";
inline constexpr const char* kOtherIngestToken =
    "other-ingest-token-0123456789";  // of project 1 only, without corrections
inline constexpr const char* kVolunteerToken = "volunteer-token-0123456789";  // user 1 of project 1

struct Reply {
  int status = 0;  // 0: no answer
  std::string body;
  httplib::Headers headers{};

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

// A program that serves HTTP; its directory is `dir`/data.
class Served {
 public:
  // `settings`: lines below `gateway:`. `verb`: run or gateway.
  Served(const TempDir& dir, const std::string& settings, const std::string& verb = "run",
         const std::string& failpoint = "");

  // A program that was started in another way.
  explicit Served(std::unique_ptr<Background> process) : process_(std::move(process)) {}

  // Waits until the program serves. False: the program ended before.
  bool Start();
  [[nodiscard]] Background& process() { return *process_; }
  [[nodiscard]] const std::string& url() const { return url_; }

  Reply Get(const std::string& path, const std::string& token = "", const httplib::Headers& more = {});
  Reply Post(const std::string& path, const std::string& body, const std::string& token = "",
             const std::string& type = "application/x-ndjson");
  // Repeats the request until the answer satisfies the predicate, for at most a minute, because answers lag behind the
  // pipeline.
  Reply GetUntil(const std::string& path, const std::function<bool(const Reply&)>& wanted,
                 const std::string& token = "");

 private:
  std::unique_ptr<Background> process_;
  std::string url_;
};

// Writes the tokens above as a token file of the gateway.
void WriteTokens(const std::string& path);
// Events as lines of JSON, from the program's own generator.
std::string EventLines(const TempDir& dir, int results, const std::vector<std::string>& more = {});

}  // namespace cobblestone::testing
