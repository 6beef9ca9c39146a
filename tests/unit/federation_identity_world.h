// Identities over tables in memory, for stories about accounts of a few projects.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/federation/identity/identities.h"
#include "common/federation/identity/links.h"
#include "common/federation/identity/update.h"

namespace cobblestone::federation {

using Fact = std::variant<Sighting, Ownership, Departure, Decision, Deletion>;

// The fields of a row as text, so that rows can be compared and printed.
class RowText {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }
  std::string text;

 private:
  template <class T>
  void Put(const T& value) {
    if constexpr (requires { value.begin(); }) {
      text += "[";
      for (const auto& element : value) Put(element);
      text += "]";
    } else if constexpr (std::is_enum_v<T>) {
      text += std::to_string(static_cast<int>(value)) + " ";
    } else if constexpr (std::is_integral_v<T>) {
      text += std::to_string(value) + " ";
    } else if constexpr (requires { T::Fields(value, *this); }) {
      T::Fields(value, *this);
    } else {
      text += std::to_string(value.project) + ":" + std::to_string(value.hash) + " ";
    }
  }
};

class World {
 public:
  World() : identities(tables()) {}

  IdentityTables tables() {
    return {.users = users,
            .cpids = cpids,
            .identities = identity_rows,
            .projects = projects,
            .swingers = swingers,
            .deletions = deletions};
  }

  IdentityChanges Add(const Fact& fact) {
    auto changes = std::visit([&](const auto& f) { return identities.Add(f); }, fact);
    EXPECT_TRUE(changes.ok()) << changes.status().message();
    return changes.ok() ? *changes : IdentityChanges{};
  }
  IdentityChanges See(const AccountKey& account, const Cpid& cpid, Day day) {
    return Add(Sighting{.account = account, .cpid = cpid, .day = day});
  }

  // All accounts that have been shown, by identity.
  std::map<AccountKey, std::set<AccountKey>> Groups() const {
    std::map<AccountKey, std::set<AccountKey>> groups;
    for (const auto& [key, user] : users.rows()) {
      for (const AccountRow& row : user.accounts) {
        if (!row.edges.empty()) groups[row.identity].insert({key.project, key.id, row.create_time});
      }
    }
    return groups;
  }
  bool Together(const AccountKey& a, const AccountKey& b) const {
    const auto one = identities.IdentityOf(a);
    const auto two = identities.IdentityOf(b);
    return one && two && *one == *two;
  }

  // All rows as text.
  std::string Dump() const {
    std::string text;
    DumpTable("user", users, &text);
    DumpTable("cpid", cpids, &text);
    DumpTable("identity", identity_rows, &text);
    DumpTable("project", projects, &text);
    DumpTable("swinger", swingers, &text);
    DumpTable("deletion", deletions, &text);
    return text;
  }

  // The groups as they follow from the links of all accounts at once, without anything incremental.
  std::set<std::set<AccountKey>> GroupsFromLinks() {
    std::map<AccountKey, AccountKey> parent;
    const auto root = [&](AccountKey key) {
      while (parent.at(key) != key) key = parent.at(key);
      return key;
    };
    std::map<Cpid, AccountKey> of_cpid;
    for (const auto& [identity, accounts] : Groups()) {
      for (const AccountKey& key : accounts) parent[key] = key;
    }
    for (const auto& [key, itself] : std::map(parent)) {
      AccountRow row;
      EXPECT_TRUE(FindAccount(tables(), key, &row));
      EXPECT_EQ(row.noise, IsNoise(tables(), key, row));
      const Links links = LinksOf(tables(), key, row);
      EXPECT_EQ(row.swings, links.swings);
      for (const Link& link : links.links) {
        if (!Counts(tables(), key.project, link.standing)) continue;
        const auto [at, is_new] = of_cpid.try_emplace(link.cpid, key);
        if (!is_new) parent[root(key)] = root(at->second);
      }
      for (const AccountKey& other : JoinedByStatement(tables(), key, row)) parent[root(key)] = root(other);
    }
    std::map<AccountKey, std::set<AccountKey>> by_root;
    for (const auto& [key, itself] : parent) by_root[root(key)].insert(key);
    std::set<std::set<AccountKey>> groups;
    for (const auto& [key, accounts] : by_root) groups.insert(accounts);
    return groups;
  }

  MemoryTable<UserRow> users;
  MemoryTable<CpidRow> cpids;
  MemoryTable<IdentityRow> identity_rows;
  MemoryTable<ProjectRow> projects;
  MemoryTable<SwingerRow> swingers;
  MemoryTable<DeletionRow> deletions;
  Identities identities;

 private:
  template <class Row>
  static void DumpTable(const std::string& name, const MemoryTable<Row>& table, std::string* text) {
    for (const auto& [key, row] : table.rows()) {
      RowText fields;
      Row::Fields(row, fields);
      *text += name + " " + std::to_string(key.project) + "." + std::to_string(key.id) + "." +
               std::to_string(key.sub) + ": " + fields.text + "\n";
    }
  }
};

// The owner of the first account has signed that the second one is theirs.
inline Ownership Proof(const AccountKey& account, const AccountKey& other, Day day) {
  return {.project = account.project,
          .user = account.user,
          .other_project = other.project,
          .other_user = other.user,
          .day = day};
}

// Facts in a test: project and user numbers are small; all accounts were created long before the hub began.
inline AccountKey Account(std::uint32_t project, std::uint64_t user,
                          std::uint64_t create_time = 1'000'000'000) {
  return {project, user, create_time};
}
inline Cpid Id(std::uint64_t number) { return {.high = 0xC0FFEE, .low = number}; }

inline std::set<std::set<AccountKey>> SetsOf(const std::map<AccountKey, std::set<AccountKey>>& groups) {
  std::set<std::set<AccountKey>> sets;
  for (const auto& [identity, accounts] : groups) sets.insert(accounts);
  return sets;
}

}  // namespace cobblestone::federation
