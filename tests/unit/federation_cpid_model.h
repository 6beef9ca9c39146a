// How BOINC's clients and servers pass cross-project ids around, as far as hubs can see it.
//
// A client keeps one id for each e-mail address, with the creation time of the account that it came from, and replaces it
// only by the id of a strictly older account. It sends its id in every request. A server stores the id that it receives,
// however old the account, and its reply still carries the id from before the request.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/federation/identity/facts.h"

namespace cobblestone::federation {

class CpidModel {
 public:
  // Returns the index of the account.
  std::size_t AddAccount(const AccountKey& key, const std::string& email) {
    accounts_.push_back({.key = key, .email = email, .internal = ++last_internal_});
    return accounts_.size() - 1;
  }
  // A computer that is attached to these accounts.
  void AddHost(std::vector<std::size_t> accounts) { hosts_.push_back({.accounts = std::move(accounts)}); }
  void ChangeEmail(std::size_t account, const std::string& email) { accounts_[account].email = email; }

  // Every computer sends requests to `requests` of its projects, in random order.
  void Round(std::mt19937_64& random, int requests) {
    for (int i = 0; i < requests * static_cast<int>(hosts_.size()); ++i) {
      Host& host = hosts_[random() % hosts_.size()];
      Request(host, accounts_[host.accounts[random() % host.accounts.size()]]);
    }
  }

  // What the statistics files of the day show.
  [[nodiscard]] std::vector<Sighting> Export(Day day) const {
    std::vector<Sighting> sightings;
    for (const BoincAccount& account : accounts_)
      sightings.push_back({.account = account.key, .cpid = ExternalOf(account), .day = day});
    return sightings;
  }
  [[nodiscard]] Cpid IdOf(std::size_t account) const { return ExternalOf(accounts_[account]); }

 private:
  struct BoincAccount {
    AccountKey key;
    std::string email;
    std::uint64_t internal = 0;
  };
  struct Kept {
    std::uint64_t internal = 0;
    std::uint64_t time = 0;
  };
  struct Host {
    std::vector<std::size_t> accounts;
    std::map<std::string, Kept> kept;  // by e-mail address
  };

  // Stands in for MD5(internal id + e-mail address).
  static Cpid ExternalOf(const BoincAccount& account) {
    return {.high = std::hash<std::string>{}(account.email) | 1, .low = account.internal};
  }

  static void Request(Host& host, BoincAccount& account) {
    const auto [at, is_new] = host.kept.try_emplace(account.email, Kept{});
    const std::uint64_t reply = account.internal;
    if (!is_new) account.internal = at->second.internal;
    if (is_new || account.key.create_time < at->second.time)
      at->second = {.internal = reply, .time = account.key.create_time};
  }

  std::vector<BoincAccount> accounts_;
  std::vector<Host> hosts_;
  std::uint64_t last_internal_ = 0;
};

}  // namespace cobblestone::federation
