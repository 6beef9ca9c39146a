// Whether a hub has the accounts of a project, whose events another program processed without any fault.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {

// The ledger of `dir`/events.jsonl, by a pipeline of its own.
inline std::unique_ptr<Served> ReferenceOf(const TempDir& dir) {
  EXPECT_EQ(RunProgram(dir.path(), {"ingest", "events.jsonl", "--data", "reference"}).code, 0);
  auto served = std::make_unique<Served>(std::make_unique<Background>(
      dir.path(), std::vector<std::string>{"gateway", "--data", "reference", "--listen", "127.0.0.1:0"}));
  EXPECT_TRUE(served->Start()) << served->process().err();
  return served;
}

// Users, hosts and teams 1 to 20 of project 1 have the same totals, to the micro-credit, as project 4 of the hub, which
// may show them later; and the hub has refused nothing.
inline void ExpectSameAtHub(Served& reference, Served& hub) {
  int with_credit = 0;
  for (const std::string kind : {"user", "host", "team"}) {
    for (int id = 1; id <= 20; ++id) {
      const std::string path = "/" + kind + "s/" + std::to_string(id);
      const Reply there = reference.Get("/api/v1/projects/1" + path);
      ASSERT_NE(there.status, 0);
      ASSERT_NE(there.status, 429);
      const std::string total =
          there.status == 200 ? there.json()["data"]["total"].get<std::string>() : std::string("0.000000");
      with_credit += total == "0.000000" ? 0 : 1;
      const auto is_equal = [&](const Reply& r) {
        return total == "0.000000" ? r.status == 404 : r.status == 200 && r.json()["data"]["total"] == total;
      };
      const Reply here = hub.GetUntil("/api/v1/federation/projects/4" + path, is_equal);
      ASSERT_TRUE(is_equal(here)) << kind << " " << id << " has " << total << ", at the hub: " << here.body;
    }
  }
  EXPECT_GT(with_credit, 30) << "users, hosts and teams";
  const nlohmann::json refused = hub.Get("/api/v1/refused", kReadToken).json();
  EXPECT_TRUE(refused["data"]["refused"].empty()) << refused.dump(1);
}

}  // namespace cobblestone::testing
