// What a client remembers of the past use of its resources: debts (S004, 'Long-term debt') and recent estimated credit (REC).
#pragma once

#include <cstddef>
#include <vector>

#include "common/workfetch/client.h"

namespace cobblestone::workfetch {

constexpr double kRecHalfLife = 10 * kDay;
// Of rule H, in CPU-seconds: a day, and what the buffer holds, because the jobs of the buffer run although debts have changed since.
double GreatestLead(const Client& client);

// The sum of the debts of a project, weighted by the speed of the resource.
double OverallDebt(const Client& client, std::size_t project);

// A project without jobs of a type must not save up debt for this type for ever, or no other project gets the resource once the
// project has such jobs (S004, example 3). So:
// - kSeed: eligible unless backed off, at the longest interval, suspended, or without permission to fetch.
// - kHybrid, rule H: eligible while backed off, too, as long as the overall debt exceeds the least overall debt by less than
//   GreatestLead. The seed alone fails its example 1, because A stops earning CPU debt once its CPU backoff is at the longest.
bool DebtEligible(const Client& client, std::size_t project, std::size_t resource, double now);

// True if the project has used so much more than others that only an idle resource justifies a request. S004 does not define the
// word. kSeed follows the client of March 2009: by the debt of the resource. kHybrid judges by overall debt: by the debt of one
// resource, a project that has only GPU jobs would be overworked in the steady state of example 1.
bool Overworked(const Client& client, std::size_t project, std::size_t resource);

// Applies `used` of all projects since `elapsed` seconds ago to debts and REC, and resets it. Longer than two periods (the host was
// off or asleep): resets only.
// Invariant: the changes of the eligible debts of a resource sum to zero before the greatest debt of all projects becomes zero.
void Account(Client& client, double now, double elapsed);

// What orders projects for fetch: overall debt, or with kRec the priority of BOINC: minus REC relative to share, minus queued work.
std::vector<double> FetchPriorities(const Client& client);
// Without the queued work: orders projects for running.
double RecPriority(const Client& client, std::size_t project);

}  // namespace cobblestone::workfetch
