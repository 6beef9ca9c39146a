// The state of a volunteer's client, as work fetch sees it: resources, projects, queued jobs. A plain value; all times are seconds
// of simulated time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/workfetch/backoff.h"

namespace cobblestone::workfetch {

constexpr double kDay = 86400;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Resource 0 is the CPU, all others are coprocessors.
constexpr std::size_t kCpu = 0;
constexpr std::size_t kMostResources = 4;
using PerResource = std::array<double, kMostResources>;

enum class Variant {
  kSeed,    // S004 as written: debts per resource type, eligibility ends at the longest backoff
  kRec,     // BOINC since 2011: recent estimated credit, one request when a resource runs low
  kHybrid,  // S004 with rule H and the probe rule
};
constexpr std::array<Variant, 3> kVariants = {Variant::kSeed, Variant::kRec, Variant::kHybrid};
std::string_view NameOf(Variant variant);  // "seed", "rec", "hybrid"

struct Resource {
  std::string name;
  double instances = 1;
  double speed = 1;  // FLOPS of an instance, relative to one CPU
};

struct Preferences {
  double connect_interval = 0;  // s; S004: CI
  double additional_work = 0;   // s; S004: AW
  double period = 60;           // s between two decisions without an event
  double time_slice = 3600;     // s until running CPU jobs may be exchanged

  double buffer() const { return connect_interval + additional_work; }
};

struct Job {
  std::size_t project = 0;
  std::size_t resource = kCpu;  // the type that the job counts for
  PerResource usage{};          // instances of each resource; may be fractional, or several CPUs
  double estimate = 0;          // s of execution, by the server
  double duration = 0;          // s of execution, in truth
  double remaining = 0;         // of `duration`
  double deadline = kNever;
  bool running = false;

  // The client knows the fraction done, but not the true duration.
  double estimated_remaining() const { return remaining * (estimate / duration); }
};

struct Project {
  std::string name;
  double share = 100;
  bool attached = true;
  bool suspended = false;
  bool no_more_work = false;
  double next_rpc = 0;  // not asked for anything before
  PerResource debt{};   // instance-seconds; S004: long-term debt
  PerResource used{};   // instance-seconds since the last accounting
  std::array<Backoff, kMostResources> backoff;
  double recent_flops = 0;  // REC: average of peak FLOPS used

  bool may_run() const { return attached && !suspended; }
  bool may_fetch(double now) const { return may_run() && !no_more_work && now >= next_rpc; }
};

struct Client {
  Variant variant = Variant::kHybrid;
  std::vector<Resource> resources;
  Preferences preferences;
  std::vector<Project> projects;  // a lower index wins a tie
  std::vector<Job> jobs;          // in order of arrival
  double on_fraction = 1;         // measured: share of the time in which jobs run

  double total_speed() const;  // all instances
};

}  // namespace cobblestone::workfetch
