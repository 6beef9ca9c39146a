// A BOINC scheduler's requests to Cobblestone's gateway. Copy this file: it needs only cpp-httplib and nlohmann::json.
//
// A scheduler must work without Cobblestone. Each request times out after kPatience. After a failed request no
// request is sent for kPause, so a gateway that is down delays a scheduler request by at most one timeout. Use one
// object for each process or thread, because it keeps its connection.
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

class GatewayAdvice {
 public:
  struct Advice {
    std::optional<double>
        runtime_s;          // the job's expected run time on the host; none: the host has too little data
    double quota_left = 0;  // how many more jobs of this version the host may get today
    bool single_replication = false;  // the job needs no second replica
    // Policy robust: replicate the job with this probability, and ignore single_replication. none: another policy
    std::optional<double> replication_probability;
    // Policy robust: what is known about the host, 0 (nothing) to 4. One result of a replicated workunit should come from
    // a host of the standing that StandingNeeded() returns. none: another policy
    std::optional<double> standing;
  };

  // `hosts`: how many hosts of the app had each standing when they last asked for work. The highest standing that at least
  // half of those above 0 have, and at least 20 hosts. 0: any host will do.
  static int StandingNeeded(const std::array<long, 5>& hosts) {
    const long known = hosts[1] + hosts[2] + hosts[3] + hosts[4];
    long have = 0;
    for (int standing = 4; standing > 0; --standing) {
      have += hosts[standing];
      if (have >= 20 && 2 * have >= known) return standing;
    }
    return 0;
  }

  // `url`: http://127.0.0.1:8080; `token`: a token of the role read, which has no rate limit.
  GatewayAdvice(const std::string& url, long project, const std::string& token)
      : client_(url),
        path_("/api/v1/projects/" + std::to_string(project)),
        headers_{{"Authorization", "Bearer " + token}} {
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    client_.set_connection_timeout(kPatience);
    client_.set_read_timeout(kPatience);
    client_.set_write_timeout(kPatience);
  }

  // Call this where the scheduler estimates a job's run time with this app version (below 0: the anonymous
  // platform). If it returns nothing, the gateway does not answer or does not know the host; use the scheduler's
  // own estimate.
  std::optional<Advice> Ask(long host, long version, long app, double fpops_est) {
    char query[150];
    std::snprintf(query, sizeof query, "/hosts/%ld/estimate?app_version=%ld&app=%ld&fpops_est=%.17g", host,
                  version, app, fpops_est);
    const std::optional<std::string> body = Get(query);
    if (!body) return std::nullopt;
    const auto data = nlohmann::json::parse(*body, nullptr, false).value("data", nlohmann::json::object());
    const auto number = [&](const char* name) -> std::optional<double> {
      // null: the host has no benchmark yet. "inf" is a string, which is not usable as a number.
      if (!data.contains(name) || !data[name].is_number()) return std::nullopt;
      return data[name].get<double>();
    };
    const auto quota = number("quota_left");
    if (!quota) return std::nullopt;
    return Advice{number("runtime_s"), *quota, data.value("single_replication", false),
                  number("replication_probability"), number("standing")};
  }

  // Call this where the scheduler writes its reply. Returns the elements to be put between <scheduler_reply> and
  // </scheduler_reply>, instead of the scheduler's elements of the same names. host_venue stays the scheduler's
  // own. If the result is empty, the gateway does not answer; write the scheduler's own elements.
  std::string ReplyElements(long host) {
    return Get("/scheduler-reply?format=xml&host=" + std::to_string(host)).value_or("");
  }

 private:
  static constexpr std::chrono::milliseconds kPatience{50};
  static constexpr std::chrono::seconds kPause{10};

  std::optional<std::string> Get(const std::string& question) {
    const auto now = std::chrono::steady_clock::now();
    if (now < again_) return std::nullopt;
    const auto reply = client_.Get(path_ + question, headers_);
    if (!reply || reply->status >= 500) again_ = now + kPause;
    if (!reply || reply->status != 200)
      return std::nullopt;  // 404: the gateway does not know the host or the version
    return reply->body;
  }

  httplib::Client client_;
  const std::string path_;
  const httplib::Headers headers_;
  std::chrono::steady_clock::time_point again_{};
};
