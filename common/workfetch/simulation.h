// One client in simulated time, with the schedulers of its projects: the same scenario gives the same outcome, bit for bit.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "common/workfetch/choice.h"
#include "common/workfetch/client.h"
#include "common/workfetch/metrics.h"
#include "common/workfetch/server.h"

namespace cobblestone::workfetch {

// What the owner of the host does.
struct Event {
  enum class Kind {
    kAttach,
    kSuspend,
    kResume,
    kNoMoreWork,
    kAllowWork,
    kReset,  // drops the jobs and backoffs of the project; debts stay, so that a reset wins nothing
    kNetworkOff,
    kNetworkOn,
  };
  double at = 0;
  Kind kind = Kind::kSuspend;
  std::size_t project = 0;  // not for the network
};

struct Participant {
  std::string name;
  double share = 100;
  Server server;
  bool attached = true;  // from the start
};

struct Scenario {
  std::vector<Resource> resources;
  Preferences preferences;
  std::vector<Participant> projects;
  std::vector<Event> events;  // ascending by time
  // The host is on for `on` seconds from the start of each cycle. The client has measured the fraction.
  double cycle = kDay;
  double on = kDay;
  double duration = kDay;
  double bin = kDay / 24;  // resolution of Outcome::used
};

struct RequestRecord {
  double at = 0;
  WorkRequest request;
  std::array<std::size_t, kMostResources> jobs{};  // received, per type
};

struct Outcome {
  double bin = 0;
  // Instance-seconds: used[bin][project][resource].
  std::vector<std::vector<PerResource>> used;
  std::vector<RequestRecord> requests;
  Metrics metrics;
  PerResource longest_queue{};  // s of work per instance, at the client's estimate
  std::size_t most_steps = 0;   // of a round-robin simulation
  Client client;                // at the end

  // Instance-seconds in [from, to), which are multiples of the bin.
  double Used(std::size_t project, std::size_t resource, double from, double to) const;
  // Of what all projects used of the resource; 0 if it was idle.
  double Share(std::size_t project, std::size_t resource, double from, double to) const;
};

Outcome Simulate(const Scenario& scenario, Variant variant);

}  // namespace cobblestone::workfetch
