// The facts from which identities follow (docs/design/identity.md): who showed which cross-project id (CPID) on which
// day, and what owners and operators decided. Values only.
//
// The result is a function of the set of facts. Every date comes from the data, so that another order of import, or
// the import of a fact twice, gives the same rows.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cobblestone::federation {

// Days since 1970-01-01, UTC.
using Day = std::uint32_t;
inline constexpr Day kNever = 0xFFFFFFFF;

// An external cross-project id: the 128 bits of an MD5. The value 0 is no id.
struct Cpid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] bool set() const { return high != 0 || low != 0; }
  friend auto operator<=>(const Cpid&, const Cpid&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.high, s.low);
  }
};

// From 32 hexadecimal digits of either case; nothing for other texts and for 32 zeros.
std::optional<Cpid> ParseCpid(std::string_view text);
std::string CpidText(const Cpid& cpid);  // 32 lower-case digits

// An account of a project. A project that starts again with an empty database gives the same numbers to other people;
// the creation time tells the accounts apart.
struct AccountKey {
  std::uint32_t project = 0;  // the hub's number of the project
  std::uint64_t user = 0;
  std::uint64_t create_time = 0;  // UNIX s, as exported

  friend auto operator<=>(const AccountKey&, const AccountKey&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.user, s.create_time);
  }
};

// Where a sighting comes from, a set of bits.
enum Source : std::uint8_t { kFromFile = 1, kFromRpc = 2, kFromFeed = 4 };

// A project showed this id for this account on this day. A hub may report only the first day, the last day and the
// changes of a period in which the id stays the same.
struct Sighting {
  AccountKey account;
  Cpid cpid;
  Day day = 0;
  std::uint8_t sources = kFromFile;
};

// The user has signed, through the project, that the other user is the same person (ownership_proof.h). Two such proofs,
// one from each side, join two accounts. A proof names users by number; it is about the accounts that had these numbers on
// its day (AccountAt). The caller has verified the signature.
struct Ownership {
  std::uint32_t project = 0;
  std::uint64_t user = 0;
  std::uint32_t other_project = 0;
  std::uint64_t other_user = 0;
  Day day = 0;
};

// The user has signed that the account stands alone from this day on: no id, proof or join counts for it. `returns`: that
// this is over. The statement of the greatest (day, returns) is in force, for every account that had the number by then.
struct Departure {
  std::uint32_t project = 0;
  std::uint64_t user = 0;
  Day day = 0;
  bool returns = false;
};

enum class DecisionKind : std::uint8_t {
  kCut = 1,    // the account does not belong to the id
  kLeave = 2,  // the account stands alone: no id, proof or join counts for it
  kJoin = 3,   // `account` and `other` belong to one person
};

// Of an operator. Of all decisions with the same subject (kind, account, and id or other account), the one with the
// greatest (day, number) is in force.
struct Decision {
  DecisionKind kind = DecisionKind::kCut;
  AccountKey account;
  Cpid cpid;         // kCut
  AccountKey other;  // kJoin
  Day day = 0;
  std::uint64_t number = 0;  // of the hub's log of decisions, unique
  bool withdrawn = false;    // the subject is undecided again
};

// The project has deleted the user. All that was shown for the user up to and including this day is forgotten, except
// for hashes. A later sighting is a new account.
struct Deletion {
  std::uint32_t project = 0;
  std::uint64_t user = 0;
  Day day = 0;
};

}  // namespace cobblestone::federation
