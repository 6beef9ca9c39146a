// The rows in which identities are kept, and the interface through which Identities reads and writes them. Every row is
// a function of the set of facts. A stage keeps the rows in tables of its slot; MemoryTable is for tests and tools.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/federation/identity/facts.h"

namespace cobblestone::federation {

// Has the members of stream::Key.
struct RowKey {
  std::uint32_t project = 0;
  std::uint64_t id = 0;
  std::uint64_t sub = 0;

  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

// An account showed an id: the first and the last day, in whatever order the days arrived.
struct Edge {
  Cpid cpid;
  Day first = 0;
  Day last = 0;
  std::uint8_t sources = 0;  // Source
  bool cut = false;          // derived: a decision is in force

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.cpid, s.first, s.last, s.sources, s.cut);
  }
};

struct OwnershipRow {
  std::uint32_t project = 0;  // of the other user
  std::uint64_t user = 0;
  Day day = 0;  // the latest

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.user, s.day);
  }
};

struct DepartureRow {
  Day day = 0;  // 0: the owner has said nothing
  bool returns = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.day, s.returns);
  }
};

// The decision in force about one subject. A kJoin is in the rows of both accounts.
struct DecisionRow {
  DecisionKind kind = DecisionKind::kCut;
  Cpid cpid;
  AccountKey other;
  Day day = 0;
  std::uint64_t number = 0;
  bool withdrawn = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.kind, s.cpid, s.other, s.day, s.number, s.withdrawn);
  }
};

struct AccountRow {
  std::uint64_t create_time = 0;
  std::vector<Edge> edges;  // by cpid; an account without edges has not been shown and has no identity
  std::vector<DecisionRow> decisions;
  // Derived.
  AccountKey identity;
  bool noise = false;   // has shown more than kMostEstablished established ids
  bool swings = false;  // joins established ids by a swing alone (ProjectRow::swingers)

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.create_time, s.edges, s.decisions, s.identity, s.noise, s.swings);
  }
};

// Key: (project, user, 0). All accounts that have had this number, by creation time, and what their owners have signed.
struct UserRow {
  std::vector<AccountRow> accounts;
  std::vector<OwnershipRow> ownerships;  // by (project, user)
  DepartureRow departure;                // the one in force

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.accounts, s.ownerships, s.departure);
  }
};

struct Holder {
  AccountKey account;
  Day first = 0;
  bool cut = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.account, s.first, s.cut);
  }
};

struct DeletedHolder {
  std::uint32_t project = 0;
  std::uint64_t hash = 0;  // of user and creation time

  friend auto operator<=>(const DeletedHolder&, const DeletedHolder&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.hash);
  }
};

// Key: (0, high, low). Who has shown an id. At most kMostHolders of one project: a project with more is crowded, and
// its accounts are no longer listed.
struct CpidRow {
  std::vector<Holder> holders;         // by account
  std::vector<DeletedHolder> deleted;  // sorted
  std::vector<std::uint32_t> crowded;  // projects, sorted

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.holders, s.deleted, s.crowded);
  }
};

// Key: the account that names the identity (project, user, create_time). Identities of one account have no row.
struct IdentityRow {
  std::vector<AccountKey> accounts;  // sorted

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.accounts);
  }
};

// Key: (project, 0, 0).
struct ProjectRow {
  Day known_since = 0;         // day of the first complete file; see Identities::AddProject
  std::uint64_t accounts = 0;  // that have been shown
  std::uint64_t swingers = 0;  // accounts with AccountRow::swings
  std::uint64_t deleted = 0;   // users with a DeletionRow

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.known_since, s.accounts, s.swingers, s.deleted);
  }
};

// Key: (project, bucket, 0). The accounts with AccountRow::swings, in kSwingerBuckets rows by user.
struct SwingerRow {
  std::vector<AccountKey> accounts;  // sorted

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.accounts);
  }
};
inline constexpr std::uint64_t kSwingerBuckets = 64;

// Key: (project, hash, hash) of the user (deletion_hash.h).
struct DeletionRow {
  Day until = 0;                     // the latest day of a deletion
  std::vector<std::uint64_t> shown;  // hashes of (account, cpid) of the sightings up to that day, sorted

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.until, s.shown);
  }
};

// One table of rows.
template <class Row>
class RowTable {
 public:
  virtual ~RowTable() = default;
  // False, and `row` unchanged, if there is no such row.
  bool Find(const RowKey& key, Row* row) const {
    const Row* const found = Peek(key);
    if (found != nullptr) *row = *found;
    return found != nullptr;
  }
  // Null if there is no such row. Valid until the next Put() or Erase() of the table.
  virtual const Row* Peek(const RowKey& key) const = 0;
  virtual void Put(const RowKey& key, Row row) = 0;
  // No error if there is no such row.
  virtual void Erase(const RowKey& key) = 0;
};

template <class Row>
class MemoryTable final : public RowTable<Row> {
 public:
  const Row* Peek(const RowKey& key) const override {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  void Put(const RowKey& key, Row row) override { rows_[key] = std::move(row); }
  void Erase(const RowKey& key) override { rows_.erase(key); }
  [[nodiscard]] const std::map<RowKey, Row>& rows() const { return rows_; }

 private:
  std::map<RowKey, Row> rows_;
};

// The tables of one deployment. They outlive Identities.
struct IdentityTables {
  RowTable<UserRow>& users;
  RowTable<CpidRow>& cpids;
  RowTable<IdentityRow>& identities;
  RowTable<ProjectRow>& projects;
  RowTable<SwingerRow>& swingers;
  RowTable<DeletionRow>& deletions;
};

inline RowKey UserKeyOf(const AccountKey& account) { return {account.project, account.user, 0}; }
inline RowKey KeyOf(const AccountKey& account) {
  return {account.project, account.user, account.create_time};
}
inline RowKey KeyOf(const Cpid& cpid) { return {0, cpid.high, cpid.low}; }
inline RowKey ProjectKeyOf(std::uint32_t project) { return {project, 0, 0}; }

}  // namespace cobblestone::federation
