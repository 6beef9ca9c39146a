// Events that a federation hub receives about projects (schemas/events.proto gives units and meaning). The same structs
// are rows of its stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/accounts/corrected_day.h"
#include "common/credit/model/model.h"
#include "common/wire/events/account_kind.h"
#include "common/wire/events/profiles.h"

namespace cobblestone::wire {

// Frozen numbers, here and below.
enum class FeedMode : std::uint8_t { kUnknown = 0, kFiles = 1, kDirect = 2 };

inline constexpr double kEraseAfter = 30 * 86400.0;  // s
inline constexpr std::size_t kMostSharedAccounts = 1000;

struct FeedProject {
  // Numbers of the message's fields.
  static constexpr FieldMask kUrl = FieldBit(2);
  static constexpr FieldMask kEraseAfter = FieldBit(8);
  static constexpr FieldMask kSharedAccounts = FieldBit(9);
  static constexpr FieldMask kAccountManager = FieldBit(10);
  static constexpr FieldMask kPointsSince = FieldBit(11);
  static constexpr FieldMask kRequired = FieldBit(1) | FieldBit(3);  // name, mode
  static constexpr FieldMask kAllFields = FieldsTo(11) & ~FieldBit(7);

  std::string name;
  std::string url;
  FeedMode mode = FeedMode::kUnknown;
  bool retired = false;
  std::string ownership_key;          // PEM; empty: none
  double points_per_cobblestone = 0;  // 0: 1
  double erase_after = 0;             // s; 0: wire::kEraseAfter
  // Users that belong to an account manager; in a row ascending, each once.
  std::vector<std::uint64_t> shared_accounts;
  bool account_manager = false;    // its users are people who earned what they have at the other projects
  std::int64_t points_since = 0;   // UNIX day from which on points_per_cobblestone holds; 0: for all credit
  FieldMask present = kAllFields;  // in an event; not part of a row

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name, s.url, s.mode, s.retired, s.ownership_key, s.points_per_cobblestone, s.erase_after,
      s.shared_accounts, s.account_manager, s.points_since);
  }
  friend bool operator==(const FeedProject&, const FeedProject&) = default;
};

enum class EditionState : std::uint8_t { kUnknown = 0, kBegun = 1, kComplete = 2, kHeld = 3 };

struct FeedSum {
  AccountKind kind = AccountKind::kUnknown;
  std::uint64_t accounts = 0;
  credit::MicroTotal total_micro = 0;
  std::uint64_t changed = 0;
  std::uint64_t not_shown = 0;  // accounts that the project counts and does not show
  credit::MicroTotal not_shown_micro = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.kind, s.accounts, s.total_micro, s.changed, s.not_shown, s.not_shown_micro);
  }
  friend bool operator==(const FeedSum&, const FeedSum&) = default;
};

struct FeedEdition {
  std::uint64_t edition = 0;
  EditionState state = EditionState::kUnknown;
  double published_time = 0;  // UNIX s
  std::string digest;
  std::vector<FeedSum> sums;
  std::string reason;
  bool released = false;
  bool whole = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.edition, s.state, s.published_time, s.digest, s.sums, s.reason, s.released, s.whole);
  }
  friend bool operator==(const FeedEdition&, const FeedEdition&) = default;
};

struct FeedVersion {
  std::uint64_t app = 0;
  std::string app_name;
  std::uint64_t app_version = 0;
  std::string platform;
  std::string plan_class;
  credit::Resource resource = credit::Resource::kUnknown;
  double samples = 0;
  double scale = 0;          // 0: none
  double recent_credit = 0;  // Cobblestones per day, as of recent_time
  double recent_time = 0;    // UNIX s
  bool both_kinds = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.app_name, s.app_version, s.platform, s.plan_class, s.resource, s.samples, s.scale,
      s.recent_credit, s.recent_time, s.both_kinds);
  }
  friend bool operator==(const FeedVersion&, const FeedVersion&) = default;
};

struct FeedVersions {
  double as_of = 0;  // UNIX s
  std::vector<FeedVersion> versions;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.as_of, s.versions);
  }
  friend bool operator==(const FeedVersions&, const FeedVersions&) = default;
};

enum class FeedCondition : std::uint8_t {
  kUnknown = 0,
  kFine = 1,
  kNoWork = 2,
  kStuck = 3,
  kStopped = 4,
  kMoved = 5,
  kUnreachable = 6,
};

struct FeedHealth {
  FeedCondition condition = FeedCondition::kUnknown;
  std::string reason;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.condition, s.reason);
  }
  friend bool operator==(const FeedHealth&, const FeedHealth&) = default;
};

struct FeedAccount {
  AccountKind kind = AccountKind::kUnknown;
  std::uint64_t account = 0;
  std::uint64_t edition = 0;  // 0: seen at once
  bool gone = false;
  credit::MicroCredit total_micro = 0;
  double recent = 0;       // Cobblestones per day
  double recent_time = 0;  // UNIX s
  double create_time = 0;  // UNIX s
  std::string name;
  std::string country;
  std::string url;
  std::string cross_project_id;
  std::uint64_t team = 0;
  std::uint64_t owner = 0;
  std::string description;
  bool erased = false;
  std::vector<credit::CorrectedDay> corrections{};

  // A row: `kind` and `account` are its table and key. What is erased is no row.
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.edition, s.gone, s.total_micro, s.recent, s.recent_time, s.create_time, s.name, s.country, s.url,
      s.cross_project_id, s.team, s.owner, s.description, s.corrections);
  }
  friend bool operator==(const FeedAccount&, const FeedAccount&) = default;
};

struct OwnershipProof {
  std::string master_url;
  std::string message;
  std::string signature;

  friend bool operator==(const OwnershipProof&, const OwnershipProof&) = default;
};

enum class IdentityDecisionKind : std::uint8_t { kUnknown = 0, kCut = 1, kLeave = 2, kJoin = 3 };

struct IdentityDecision {
  IdentityDecisionKind kind = IdentityDecisionKind::kUnknown;
  std::uint64_t user = 0;
  double create_time = 0;  // UNIX s
  std::string cross_project_id;
  std::uint32_t other_project = 0;
  std::uint64_t other_user = 0;
  double other_create_time = 0;  // UNIX s
  bool withdrawn = false;
  std::string reason;

  friend bool operator==(const IdentityDecision&, const IdentityDecision&) = default;
};

}  // namespace cobblestone::wire
