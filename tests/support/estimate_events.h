// Reports of account managers about machines that work for several projects, mixed into other traffic. Some machines
// are honest; some are silent, start over, change hands, leave or lie. Events are out of order, repeated, sent before
// their machine is known, or invalid in every possible way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/events/event_codec.h"

namespace cobblestone::testing {

struct EstimateTraffic {
  std::uint64_t seed = 1;
  double start = 0;  // UNIX s
  double span = 0;   // s
  std::vector<std::uint32_t> projects{1};
  std::uint64_t machines = 20;
  std::uint64_t hosts = 20;  // a machine is one of the first `hosts` hosts of each project
  std::uint64_t users = 10;
  std::map<std::uint64_t, std::uint64_t> owners = {};  // of hosts, where it matters
  int reports = 12;                                    // of each machine and project
  std::uint64_t first_id = std::uint64_t{1} << 40;     // of its events
};

// The time of arrival (UNIX s), which differs from the event's own time, and the event's bytes.
using ComingEvent = std::pair<double, std::string>;

// In order of arrival.
inline std::vector<ComingEvent> EstimateEvents(const EstimateTraffic& traffic) {
  std::mt19937_64 random(traffic.seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto fraction = [&] { return static_cast<double>(below(1'000'000)) / 1e6; };
  const double grid = traffic.span / traffic.reports;
  std::uint64_t id = traffic.first_id;
  std::vector<ComingEvent> events;
  const auto add = [&](double time, double comes, std::uint32_t project, const wire::EventBody& body) {
    const wire::Event event{.head = {.id = ++id, .project = ProjectId(project), .time = time}, .body = body};
    events.emplace_back(comes, wire::EncodeEvent(event));
    if (below(10) == 0) events.emplace_back(comes + fraction() * traffic.span, wire::EncodeEvent(event));
    if (below(40) != 0) return;
    wire::Event other = event;  // the same id with other contents
    other.head.time += 1;
    events.emplace_back(comes, wire::EncodeEvent(other));
  };
  for (std::uint64_t machine = 1; machine <= traffic.machines; ++machine) {
    const bool liar = below(4) == 0;
    const wire::EstimatedCredit base{
        .host = {},
        .counters = {},
        .machine = machine,
        .cpus = liar && below(2) == 0 ? 1e6 : 1.0 + static_cast<double>(below(16)),
        .cpu_flops = 1e9 * (1 + fraction()),
        .gpus = liar ? 1e6 : static_cast<double>(below(2)),
        .gpu_flops = 1e12 * (1 + fraction())};
    for (const std::uint32_t project : traffic.projects) {
      std::uint64_t host = 1 + (machine - 1) % traffic.hosts;
      const auto add_host = [&](double time, double comes, std::uint64_t user, bool gone) {
        add(time, comes, project,
            wire::MachineHost{.machine = machine, .host = HostId(host), .user = UserId(user), .gone = gone});
      };
      const double joined = traffic.start + fraction() * 0.2 * traffic.span;
      const auto known = traffic.owners.find(host);
      const std::uint64_t owner = known != traffic.owners.end() ? known->second : 1 + below(traffic.users);
      // The host of one machine in nine is never reported; one in five is reported late.
      if (machine % 9 != 0)
        add_host(joined, joined + (machine % 5 == 0 ? 0.3 * traffic.span : 0), owner, false);
      std::vector<wire::ResourceCounter> counters{{.resource = credit::Resource::kCpu}};
      if (base.gpus > 0) counters.push_back({.resource = credit::Resource::kNvidia});
      double last = joined;
      for (int i = 1; i <= traffic.reports; ++i) {
        double time = joined + (traffic.start + traffic.span - joined) * i / (traffic.reports + 1);
        // For every other machine several reports have one time.
        if (machine % 2 == 0) time = traffic.start + std::ceil((time - traffic.start) / grid) * grid;
        if (below(8) == 0) continue;  // silent
        const double passed = time - last;
        last = time;
        if (below(12) == 0)
          for (auto& counter : counters)
            counter = {.resource = counter.resource};  // the client was reinstalled
        for (auto& counter : counters) {
          const double busy =
              passed * fraction() * (liar ? 1e4 : 1) / static_cast<double>(traffic.projects.size());
          const double failed = below(4) == 0 ? fraction() : 0;
          counter.credit += busy / 86400 * (counter.resource == credit::Resource::kCpu ? 200 : 2e5);
          counter.run_time += busy;
          counter.failed_run_time += busy * failed;
          counter.jobs += 1 + below(5);
          counter.failed_jobs += failed > 0 ? 1 : 0;
        }
        if (below(20) == 0) add_host(time - 1, time, below(traffic.users + 1), false);  // the host is sold
        if (below(60) == 0) add_host(time - 1, time, 1 + below(traffic.users), true);
        wire::EstimatedCredit report = base;
        report.host = HostId(below(40) == 0 ? host + 1 : host);
        report.counters = counters;
        if (below(40) == 0) report.counters[0].resource = credit::Resource::kUnknown;
        if (below(40) == 0) report.counters[0].run_time = 1e300;
        if (below(40) == 0) report.counters[0].credit = -1;
        if (below(60) == 0) report.cpu_flops = std::numeric_limits<double>::quiet_NaN();
        if (below(4) == 0) report.cpus = base.cpus * (below(2) == 0 ? 8 : 0.1);
        add(time, time + (below(5) == 0 ? 0.2 * fraction() * traffic.span : 0), project, report);
        if (below(8) != 0) continue;
        report.cpus = base.cpus;  // the same report, except for the machine's size
        add(time, time + (below(2) == 0 ? 0.01 * traffic.span : 0), project, report);
      }
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return events;
}

// Puts both sequences: each report once the event time of the other traffic has reached it.
template <class Event, class BytesOf, class Put>
void MixIn(const std::vector<Event>& traffic, const std::vector<ComingEvent>& reports, BytesOf&& bytes_of,
           Put&& put) {
  double now = 0;
  std::size_t next = 0;
  for (const Event& event : traffic) {
    now = std::max(now, wire::PeekEventTime(bytes_of(event)).value_or(0));
    put(event);
    for (; next < reports.size() && reports[next].first <= now; ++next) put(reports[next].second);
  }
  for (; next < reports.size(); ++next) put(reports[next].second);
}

}  // namespace cobblestone::testing
