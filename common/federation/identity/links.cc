#include "common/federation/identity/links.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace cobblestone::federation {
namespace {

constexpr std::uint64_t kSecondsPerDay = 86400;

// An id of the account, with what others have shown.
struct Candidate {
  const Edge* edge = nullptr;
  const CpidRow* row = nullptr;  // valid while no row of an id is written
  Day support = kNever;
  bool later = false;  // an earlier account of the same project has shown the id
};

bool IsCrowded(const CpidRow& row, std::uint32_t project) {
  return std::binary_search(row.crowded.begin(), row.crowded.end(), project);
}

const Holder* HolderOf(const CpidRow& row, const AccountKey& account) {
  const auto at = std::lower_bound(row.holders.begin(), row.holders.end(), account,
                                   [](const Holder& h, const AccountKey& key) { return h.account < key; });
  return at != row.holders.end() && at->account == account ? &*at : nullptr;
}

bool Before(const Holder& a, const Holder& b) {
  return std::tie(a.first, a.account) < std::tie(b.first, b.account);
}

Day SupportOf(const CpidRow& row, std::uint32_t project) {
  Day support = kNever;
  for (const Holder& holder : row.holders) {
    if (holder.account.project != project && !holder.cut) support = std::min(support, holder.first);
  }
  return support;
}

const Edge* EdgeOf(const AccountRow& row, const Cpid& cpid) {
  const auto at = std::lower_bound(row.edges.begin(), row.edges.end(), cpid,
                                   [](const Edge& e, const Cpid& c) { return e.cpid < c; });
  return at != row.edges.end() && at->cpid == cpid ? &*at : nullptr;
}

class Evaluation {
 public:
  Evaluation(const IdentityTables& tables, const AccountKey& key, const AccountRow& row)
      : tables_(tables), key_(key), row_(row) {}

  // All edges but those that cannot count, whose standing is set at once.
  void Gather(Links* links) {
    for (const Edge& edge : row_.edges) {
      links->links.push_back({.cpid = edge.cpid, .standing = Standing::kUnconfirmed});
      Standing& standing = links->links.back().standing;
      if (edge.cut) {
        standing = Standing::kCut;
        continue;
      }
      static const CpidRow kNone;
      const CpidRow* const row = tables_.cpids.Peek(KeyOf(edge.cpid));
      Candidate candidate{.edge = &edge, .row = row == nullptr ? &kNone : row};
      if (IsCrowded(*candidate.row, key_.project)) {
        standing = Standing::kCrowded;
        continue;
      }
      candidate.support = SupportOf(*candidate.row, key_.project);
      if (Displaced(&candidate)) {
        standing = Standing::kHeldByAnother;
        continue;
      }
      candidates_.push_back(candidate);
    }
  }

  void Decide(Links* links) {
    const auto anchor =
        std::min_element(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
          return std::tie(a.support, a.edge->first, a.edge->cpid) <
                 std::tie(b.support, b.edge->first, b.edge->cpid);
        });
    for (const Candidate& candidate : candidates_) {
      Link& link = *std::find_if(links->links.begin(), links->links.end(),
                                 [&](const Link& l) { return l.cpid == candidate.edge->cpid; });
      link.standing = &candidate == &*anchor ? Standing::kJoined : Decide(*anchor, candidate);
      if (link.standing == Standing::kSwing) links->swings = true;
    }
  }

 private:
  // An earlier account of the project holds the id. The id then counts for this account only as its anchor, and only
  // if the other account had stopped to show the id: the project has started again with an empty database.
  bool Displaced(Candidate* candidate) const {
    const Holder* own = HolderOf(*candidate->row, key_);
    if (own == nullptr) return true;
    for (const Holder& holder : candidate->row->holders) {
      if (holder.account.project != key_.project || holder.account == key_ || holder.cut) continue;
      if (!Before(holder, *own)) continue;
      candidate->later = true;
      const AccountRow* const other = PeekAccount(tables_, holder.account);
      if (other == nullptr) continue;
      const Edge* edge = EdgeOf(*other, candidate->edge->cpid);
      if (edge != nullptr && edge->last >= candidate->edge->first) return true;
    }
    return candidate->later && candidate->support == kNever;
  }

  Standing Decide(const Candidate& anchor, const Candidate& candidate) const {
    if (candidate.later) return Standing::kHeldByAnother;
    const Day linked = std::max(anchor.edge->first, candidate.edge->first);
    if (EstablishedSince(*candidate.row) > linked) return Standing::kJoined;
    if (anchor.later) return Standing::kUnconfirmed;
    if (row_.noise) return Standing::kNoise;
    if (SecondProjectAgrees(anchor, candidate)) return Standing::kJoined;
    if (!Swings(*anchor.edge, *candidate.edge)) return Standing::kUnconfirmed;
    return Contradicted(*anchor.row, *candidate.row, linked) ? Standing::kContradicted : Standing::kSwing;
  }

  // The first day on which another project had the id. An account in the first file of a project had its id since an
  // unknown day: the day of its creation counts.
  Day EstablishedSince(const CpidRow& row) const {
    Day since = kNever;
    for (const Holder& holder : row.holders) {
      if (holder.account.project == key_.project || holder.cut) continue;
      since = std::min(since, holder.first);
      ProjectRow project;
      if (!tables_.projects.Find(ProjectKeyOf(holder.account.project), &project)) continue;
      if (holder.first <= project.known_since)
        since = std::min(since, static_cast<Day>(holder.account.create_time / kSecondsPerDay));
    }
    return since;
  }

  // An account of another project that counts has shown both ids.
  bool SecondProjectAgrees(const Candidate& a, const Candidate& b) const {
    for (const Holder& holder : a.row->holders) {
      if (holder.account.project == key_.project || holder.cut) continue;
      const Holder* both = HolderOf(*b.row, holder.account);
      if (both == nullptr || both->cut || !IsEarliest(*a.row, holder) || !IsEarliest(*b.row, *both)) continue;
      const AccountRow* const other = PeekAccount(tables_, holder.account);
      if (other != nullptr && !other->noise) return true;
    }
    return false;
  }
  static bool IsEarliest(const CpidRow& row, const Holder& holder) {
    return std::none_of(row.holders.begin(), row.holders.end(), [&](const Holder& other) {
      return other.account.project == holder.account.project && !other.cut && Before(other, holder);
    });
  }

  // Another project had, on the day of the link, one account for each id, and none for both.
  bool Contradicted(const CpidRow& a, const CpidRow& b, Day linked) const {
    const auto counts = [&](const Holder& holder, const CpidRow& other) {
      return holder.account.project != key_.project && !holder.cut && holder.first <= linked &&
             HolderOf(other, holder.account) == nullptr;
    };
    for (const Holder& one : a.holders) {
      if (!counts(one, b)) continue;
      for (const Holder& two : b.holders) {
        if (one.account.project == two.account.project && counts(two, a)) return true;
      }
    }
    return false;
  }

  const IdentityTables& tables_;
  const AccountKey& key_;
  const AccountRow& row_;
  std::vector<Candidate> candidates_;
};

}  // namespace

const AccountRow* PeekAccount(const IdentityTables& tables, const AccountKey& key) {
  const UserRow* const user = tables.users.Peek(UserKeyOf(key));
  if (user == nullptr) return nullptr;
  for (const AccountRow& account : user->accounts)
    if (account.create_time == key.create_time) return &account;
  return nullptr;
}

bool FindAccount(const IdentityTables& tables, const AccountKey& key, AccountRow* row) {
  const AccountRow* const account = PeekAccount(tables, key);
  if (account != nullptr) *row = *account;
  return account != nullptr;
}

bool IsNoise(const IdentityTables& tables, const AccountKey& key, const AccountRow& row) {
  if (row.edges.size() <= kMostEstablished) return false;
  std::size_t established = 0;
  for (const Edge& edge : row.edges) {
    if (edge.cut) continue;
    const CpidRow* const cpid = tables.cpids.Peek(KeyOf(edge.cpid));
    if (cpid == nullptr || IsCrowded(*cpid, key.project)) continue;
    if (SupportOf(*cpid, key.project) <= edge.first && ++established > kMostEstablished) return true;
  }
  return false;
}

Links LinksOf(const IdentityTables& tables, const AccountKey& key, const AccountRow& row) {
  Links links{.links = {}, .noise = row.noise};
  Evaluation evaluation(tables, key, row);
  evaluation.Gather(&links);
  evaluation.Decide(&links);
  return links;
}

}  // namespace cobblestone::federation
