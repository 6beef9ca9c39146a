// Shared by the tests of this folder: traffic of a project, an engine that commits and writes state often,
// and checks of the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/embedded/engine.h"
#include "services/traffic/generate.h"

namespace cobblestone::testing {

struct Event {
  std::string envelope;
  bool broadcast = false;  // sent as a block of its own
};

// All policies except those that need lockstep, repeats, bad lines and results that never return.
traffic::GenerateOptions TrafficOptions(std::uint64_t seed, std::uint64_t results);
std::vector<Event> Traffic(const traffic::GenerateOptions& options);
std::vector<Event> Traffic(std::uint64_t seed, std::uint64_t results);
// Traffic in which every change of order changes the result: policies with a history, BOINC's recent average, hosts and
// users that move, users whose events are sent late or never, opening balances, and results that arrive in any order,
// twice, with other contents, without a workunit, or from two hosts, and are paid while they run.
traffic::GenerateOptions RestlessOptions(std::uint64_t seed, std::uint64_t results);
std::vector<Event> RestlessTraffic(const traffic::GenerateOptions& options);
// Jobs that are paid while they run, by rules of every kind, with valid and invalid messages, ordered so that
// no account depends on which topic is read first.
std::vector<Event> TrickleTrafficOf(std::uint64_t seed, std::uint64_t results);
// Writes a file for `cobblestone ingest`: each envelope after its length (protobuf's delimited messages).
void WriteTraffic(const std::vector<Event>& events, const std::string& path);

// Settings for commits of some hundred records, a state write every 30 ms and a checkpoint every 100 ms.
settings::RunSettings BusySettings(const std::string& directory);

// Ingests from the source's position to the end, in blocks of some hundred events, with broadcasts in blocks
// of their own.
Status Ingest(embedded::Engine& engine, const std::vector<Event>& events);

// Hash over every byte of all awards with their explanations, and over the last record of each account in the
// topic of totals. It is the same for any partitions, threads and backend that ran in lockstep. Prints the
// hash with `name` and the counts.
std::string OutcomeHash(embedded::Engine& engine, const std::string& name);

// Expects every grant and every total of a host, user and team to equal the oracle's to the micro-credit,
// nothing twice, nothing missing, and a clean audit. `owners_change`: in `order: arrival` the owner of a host
// at the time of a report depends on the order of arrival, so only the audit checks users and teams.
void ExpectLikeTheOracle(embedded::Engine& engine, const std::vector<Event>& events,
                         bool owners_change = false);
// Expects the total and the provisional credit of every account to equal the oracle's, and a clean audit. For
// traffic whose order of arrival decides which message earned what.
void ExpectAccountsLikeTheOracle(embedded::Engine& engine, const std::vector<Event>& events);

}  // namespace cobblestone::testing
