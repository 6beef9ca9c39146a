// A real Prometheus with the configuration and the alerts that are shipped (deploy/monitoring), as the distribution has it.
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
  // Scrapes these (host:port) several times a second. `directory` is its own; it is ended with the object.
  Prometheus(const std::string& directory, const std::vector<std::string>& targets);

  // Each target was scraped since the call, and is up. False: not within a minute.
  bool AwaitScrape() const;
  // "result" of the answer to a query; a test failure and null where Prometheus does not take it.
  [[nodiscard]] nlohmann::json Query(const std::string& expression) const;
  // Of a query with one result; NaN where it has none or several.
  [[nodiscard]] double Value(const std::string& expression) const;
  // Until the query has a result; false: not within a minute.
  bool Await(const std::string& expression) const;
  // All metrics that it has samples of.
  [[nodiscard]] std::set<std::string> Names() const;
  // Alerts of the rules that it has read.
  [[nodiscard]] std::set<std::string> Alerts() const;

 private:
  [[nodiscard]] nlohmann::json Ask(const std::string& path) const;
  std::size_t targets_;
  int port_ = 0;
  std::unique_ptr<Background> process_;
};

// Metrics that the dashboard and the alerts name, without what a histogram's name ends with.
std::set<std::string> NamedMetrics();
// Every expression of the dashboard, its variables taken for what fits everything.
std::vector<std::string> DashboardExpressions();
// What `promtool check metrics` says of a scrape; empty: nothing.
std::string WhatPromtoolSays(const std::string& directory, const std::string& text);
// GET, its body; a test failure where the status is another one.
std::string Fetch(const std::string& address, const std::string& path, int status = 200);
// host:port at which a program that has said so serves its metrics.
std::string MetricsAddressIn(const std::string& log);

}  // namespace cobblestone::testing
