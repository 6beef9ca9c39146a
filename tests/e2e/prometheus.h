// A real Prometheus from the distribution, with the shipped configuration and alerts (deploy/monitoring).
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/program_process.h"

namespace cobblestone::testing {

class Prometheus {
 public:
  // Scrapes the targets (host:port) several times a second. Only Prometheus uses `directory`. The destructor ends the
  // process.
  Prometheus(const std::string& directory, const std::vector<std::string>& targets);

  // Waits until each target was scraped after the call, and is up. False: not within a minute.
  bool AwaitScrape() const;
  // "result" of the answer to a query; a test failure and null if Prometheus rejects the query.
  [[nodiscard]] nlohmann::json Query(const std::string& expression) const;
  // The value of a query with one result; NaN if it has none or several.
  [[nodiscard]] double Value(const std::string& expression) const;
  // Waits until the query has a result. False: not within a minute.
  bool Await(const std::string& expression) const;
  // All metrics with samples.
  [[nodiscard]] std::set<std::string> Names() const;
  // Alerts of the loaded rules.
  [[nodiscard]] std::set<std::string> Alerts() const;

 private:
  [[nodiscard]] nlohmann::json Ask(const std::string& path) const;
  std::size_t targets_;
  int port_ = 0;
  std::unique_ptr<Background> process_;
};

// Metrics that the dashboard and the alerts use, without the suffixes of histograms.
std::set<std::string> NamedMetrics();
// Every expression of the dashboard, with its variables replaced by patterns that match everything.
std::vector<std::string> DashboardExpressions();
// Output of `promtool check metrics` for a scrape; empty: no complaint.
std::string PromtoolComplaints(const std::string& directory, const std::string& text);
// The body of a GET; a test failure if the status differs.
std::string Fetch(const std::string& address, const std::string& path, int status = 200);
// The host:port at which a program serves its metrics, from its log.
std::string MetricsAddressIn(const std::string& log);

}  // namespace cobblestone::testing
