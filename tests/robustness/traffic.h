// What the tests of this folder share: traffic of a project, an engine that commits and writes state often, and the
// judgement of what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/embedded/engine.h"
#include "services/traffic/generate.h"

namespace cobblestone::testing {

struct Event {
  std::string envelope;
  bool broadcast = false;  // comes as a block of its own
};

// All policies but those of the lockstep, repeats, bad lines and results that never come.
traffic::GenerateOptions TrafficOptions(std::uint64_t seed, std::uint64_t results);
std::vector<Event> Traffic(const traffic::GenerateOptions& options);
std::vector<Event> Traffic(std::uint64_t seed, std::uint64_t results);
// Everything whose order shows: policies with a history, recent averages by BOINC's letter, hosts and users that move, users
// that are named late or never, balances, results that come in any order, twice, with other contents, in vain, or from two
// hosts, and are paid while they run.
traffic::GenerateOptions RestlessOptions(std::uint64_t seed, std::uint64_t results);
std::vector<Event> RestlessTraffic(const traffic::GenerateOptions& options);
// Jobs that are paid while they run, by rules of every kind, honest messages and others; in an order in which nothing that an
// account gets rests on which topic is read first.
std::vector<Event> TrickleTrafficOf(std::uint64_t seed, std::uint64_t results);
// As a file for `cobblestone ingest`: each envelope behind its length (protobuf's delimited messages).
void WriteTraffic(const std::vector<Event>& events, const std::string& path);

// Commits of some hundred records, a state write every 30 ms, a checkpoint every 100 ms.
settings::RunSettings BusySettings(const std::string& directory);

// From where the source stands to its end; blocks of some hundred events, broadcasts by themselves.
Status Ingest(embedded::Engine& engine, const std::vector<Event>& events);

// Of all awards, every byte with what explains them, and of what the topic of totals says last of each account: the same for
// any partitions, threads and backend where all ran in lockstep. Prints it, under this name, with how many there are.
std::string OutcomeHash(embedded::Engine& engine, const std::string& name);

// Every grant, every total of a host, user and team, to the micro-credit, as the independent computation says; nothing
// twice, nothing missing, and the audit finds nothing. `owners_change`: running freely, whose host it was when a result
// was reported depends on the order of arrival; users and teams are left to the audit then.
void ExpectLikeTheOracle(embedded::Engine& engine, const std::vector<Event>& events,
                         bool owners_change = false);
// The total of every account and what of it is provisional, as the independent computation says, and the audit finds nothing:
// where the order of arrival decides which message has brought what.
void ExpectAccountsLikeTheOracle(embedded::Engine& engine, const std::vector<Event>& events);

}  // namespace cobblestone::testing
