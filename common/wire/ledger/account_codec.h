// Postings to teams and totals of accounts (schemas/internal.proto, Posting, Total), hand-written codec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

struct Posting {
  ProjectId project;
  TeamId team;
  UserId user;
  HostId host;
  AppId app;
  ResultId result;
  credit::MicroCredit credit_micro = 0;
  double time = 0;        // UNIX s
  double work_start = 0;  // UNIX s
  std::uint64_t line = 0;
  std::uint32_t flags = 0;  // as in the grant
  bool uncounted = false;   // adds no result: from a partial grant or a reversal
  double recent_off = 0;    // as in the grant

  friend bool operator==(const Posting&, const Posting&) = default;
};

struct AppTotal {
  AppId app;
  credit::MicroTotal total_micro = 0;
  std::uint64_t grants = 0;

  friend bool operator==(const AppTotal&, const AppTotal&) = default;
};

struct Total {
  ProjectId project;
  AccountKind kind = AccountKind::kUnknown;
  std::uint64_t account = 0;
  credit::MicroTotal total_micro = 0;
  double rac = 0;       // Cobblestones per day, as of rac_time
  double rac_time = 0;  // UNIX s
  std::uint64_t grants = 0;
  std::vector<AppTotal> apps;
  bool elsewhere = false;  // the account of a host has left this partition, so this row is deleted
  credit::MicroTotal provisional_micro = 0;
  credit::MicroTotal owed_micro = 0;
  credit::MicroTotal estimated_micro = 0;  // estimated and not yet granted; not part of the total
  credit::MicroTotal shown_micro = 0;      // for a user with estimated credit

  friend bool operator==(const Total&, const Total&) = default;
};

// The published total of an account.
Total TotalOf(ProjectId project, AccountKind kind, std::uint64_t account, const credit::Account& state);

// Encoders append to `out`. Decoders return false if the bytes are not such a message.
void EncodePosting(const Posting& posting, std::string* out);
[[nodiscard]] bool DecodePosting(std::string_view bytes, Posting* posting);

void EncodeTotal(const Total& total, std::string* out);
[[nodiscard]] bool DecodeTotal(std::string_view bytes, Total* total);

}  // namespace cobblestone::wire
