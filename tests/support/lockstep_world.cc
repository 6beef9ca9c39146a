#include "tests/support/lockstep_world.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "common/base/check.h"
#include "common/stream/state_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "tests/support/outcome_of.h"

namespace cobblestone::testing {

using pipeline::MakeSlot;
using pipeline::PipelineOptions;
using pipeline::PipelineSlot;
using pipeline::SlotCount;

LockstepWorld::LockstepWorld(std::uint32_t partitions) : partitions_(partitions) {
  // The number of commits in which rows expire must not change the result.
  const PipelineOptions options{.partitions = partitions,
                                .lockstep = true,
                                .fingerprint = false,
                                .rows_per_commit = partitions == 1 ? stage::CommitBudget::kRows : partitions};
  std::vector<stream::Slot*> slots;
  for (std::uint32_t k = 0; k < SlotCount(options); ++k) {
    slots_.push_back(MakeSlot(k, options));
    slots.push_back(slots_.back().slot.get());
    Must(slots_.back().slot->Open(nullptr));
  }
  lockstep_ = std::make_unique<stream::Lockstep>(wire::Manifest(partitions), slots);
  lockstep_->SetTap(wire::kGrants, [this](stream::TopicPartition, std::string_view record) {
    ledger_.emplace_back(record);
  });
  lockstep_->SetTap(wire::kRefused, [this](stream::TopicPartition, std::string_view record) {
    refused_.emplace_back(record);
  });
  lockstep_->SetTap(wire::kPostings, [this](stream::TopicPartition, std::string_view record) {
    postings_.emplace_back(record);
  });
  lockstep_->SetTap(wire::kPassed, [this](stream::TopicPartition, std::string_view record) {
    wire::WatermarkPassed passed;
    if (wire::DecodeWatermarkPassed(record, &passed)) moved_ += passed.moved;
  });
  lockstep_->SetTap(wire::kControl, [this](stream::TopicPartition where, std::string_view record) {
    if (where.partition == 0) control_.emplace_back(record);
  });
}

void LockstepWorld::Must(const Status& status) {
  if (!status.ok()) throw std::runtime_error("the pipeline stopped: " + status.message());
}

void LockstepWorld::Add(std::string_view envelope) { AddAt(next_line_, envelope); }

void LockstepWorld::Add(std::span<const std::string> envelopes) {
  for (const std::string& envelope : envelopes) Add(envelope);
}

void LockstepWorld::Barrier() {
  const auto pass = [&](bool ends_period) {
    moved_ = 0;
    Must(lockstep_->Drain());
    lockstep_->Append(
        {wire::kCatalogue, 0}, next_line_,
        wire::EncodeEvent({.head = {.id = ++barriers_}, .body = wire::Barrier{.ends_period = ends_period}}));
    Must(lockstep_->Drain());
  };
  do pass(false);
  while (moved_ > 0);
  pass(true);
}

void LockstepWorld::AddAt(std::uint64_t line, std::string_view envelope) {
  next_line_ = line;
  const stream::TopicPartition where = wire::RouteEvent(envelope, partitions_);
  const bool barrier =
      where.topic == wire::kCatalogue || where.topic == wire::kUsers || where.topic == wire::kTeams;
  if (barrier) Barrier();
  lockstep_->Append(where, line, envelope);
  if (barrier) Must(lockstep_->Drain());
  next_line_ = line + 1;
}

void LockstepWorld::Finish() { Barrier(); }

Outcome LockstepWorld::outcome() { return OutcomeOf(slots_, ledger_, refused_); }

std::vector<std::string> LockstepWorld::SortedLedger() const {
  std::vector<std::pair<std::pair<std::uint32_t, std::uint64_t>, std::string>> keyed;
  for (const std::string& record : ledger_) {
    wire::GrantHead head;
    if (!wire::DecodeGrantHead(record, &head)) throw std::runtime_error("a record of the ledger is no grant");
    if (wire::IsHostMove(head.kind) || head.kind == wire::GrantKind::kWatermark) continue;
    keyed.push_back({{head.project.value, head.result.value}, record});
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::string> ledger;
  for (auto& [key, record] : keyed) ledger.push_back(std::move(record));
  return ledger;
}

std::map<std::string, std::string> LockstepWorld::AccountRows() const {
  std::map<std::string, std::string> rows;
  const auto add = [&rows](const char* kind, const stream::Key& key, const credit::Account& account) {
    std::string bytes;
    stream::StateWriter writer(bytes);
    writer(account);
    std::string empty;
    stream::StateWriter empty_writer(empty);
    empty_writer(credit::Account{});
    if (bytes == empty) return;  // a row without contents is equal to no row
    const std::string name =
        std::string(kind) + " " + std::to_string(key.id) + " of project " + std::to_string(key.project);
    if (!rows.emplace(name, bytes).second)
      throw std::runtime_error("an account lies in two partitions: " + name);
  };
  for (const PipelineSlot& slot : slots_) {
    if (slot.stages.accounts == nullptr) continue;
    accounts::AccountsStage& accounts = *slot.stages.accounts;
    teams::TeamsStage& teams = *slot.stages.teams;
    accounts.hosts().ForEach([&](const stream::Key& key, const accounts::HostAccount& host) {
      add("host", key, accounts.Whole(key, host).account);
    });
    accounts.users().ForEach([&](const stream::Key& key, const accounts::UserState& user) {
      add("user", key, accounts.Whole(key, user).account);
    });
    teams.teams().ForEach([&](const stream::Key& key, const teams::TeamState& team) {
      add("team", key, teams.Whole(key, team).account);
    });
    accounts.user_estimates().ForEach([&](const stream::Key& key, const credit::UserEstimates& user) {
      stream::StateWriter writer(
          rows["estimates of user " + std::to_string(key.id) + " of project " + std::to_string(key.project)]);
      writer(accounts.Whole(key, user));
    });
  }
  return rows;
}

std::map<std::string, std::string> LockstepWorld::StateRows() {
  std::map<std::string, std::string> rows;
  for (PipelineSlot& slot : slots_) {
    // Without a store every change so far waits for the first state write.
    stream::Slot& from = *slot.slot;
    std::set<std::uint8_t> watermarks;
    if (slot.stages.coordinator != nullptr) {
      watermarks = {slot.stages.coordinator->relay().table()->id()};
    } else {
      watermarks = {
          slot.stages.claims->watermarks().table()->id(), slot.stages.grants->watermarks().table()->id(),
          slot.stages.accounts->watermarks().table()->id(), slot.stages.teams->watermarks().table()->id()};
    }
    Must(from.Finish().status());
    from.BeginStateWrite();
    while (!from.GatherStateWrite(1000)) {
    }
    const auto write = from.TakeStateWrite();
    from.StateWriteApplied();
    for (const store::Row& row : stream::RowsOf(*write)) {
      std::uint8_t table = 0;
      stream::Key where;
      COBBLESTONE_CHECK(stream::DecodeKey(row.key, &table, &where), "a key of a row");
      if (!row.deleted && !watermarks.contains(table)) rows[std::string(row.key)] = std::string(row.value);
    }
  }
  return rows;
}

std::uint64_t LockstepWorld::duplicates() const {
  std::uint64_t sum = 0;
  for (const PipelineSlot& slot : slots_) {
    if (slot.stages.claims != nullptr) sum += slot.stages.claims->duplicates();
  }
  return sum;
}

namespace {

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

}  // namespace

std::string StateDifference(const std::map<std::string, std::string>& a,
                            const std::map<std::string, std::string>& b) {
  const auto describe = [](const std::string& key, const std::string* left, const std::string* right) {
    std::uint8_t table = 0;
    stream::Key where;
    COBBLESTONE_CHECK(stream::DecodeKey(key, &table, &where), "a key of a row");
    return "table " + std::to_string(table) + " project " + std::to_string(where.project) + " id " +
           std::to_string(where.id) + " sub " + std::to_string(where.sub) + "\n  " +
           (left != nullptr ? Hex(*left) : "(no such row)") + "\n  " +
           (right != nullptr ? Hex(*right) : "(no such row)");
  };
  for (const auto& [key, row] : a) {
    const auto other = b.find(key);
    if (other == b.end()) return describe(key, &row, nullptr);
    if (other->second != row) return describe(key, &row, &other->second);
  }
  for (const auto& [key, row] : b) {
    if (a.count(key) == 0) return describe(key, nullptr, &row);
  }
  return {};
}

std::string AccountDifference(const std::map<std::string, std::string>& a,
                              const std::map<std::string, std::string>& b) {
  for (const auto& [name, row] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return name + " is missing";
    if (other->second != row) return name + "\n  " + Hex(row) + "\n  " + Hex(other->second);
  }
  for (const auto& [name, row] : b)
    if (a.count(name) == 0) return name + " should not be";
  return {};
}

std::string LedgerDifference(std::span<const std::string> a, std::span<const std::string> b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
    return (i < a.size() ? DescribeLedgerRecord(a[i]) : "(no more)") + "\n" +
           (i < b.size() ? DescribeLedgerRecord(b[i]) : "(no more)");
  }
  return {};
}

}  // namespace cobblestone::testing
