// What many stock BOINC projects publish, day by day, for tests and load tests of a federation hub:
//
//   DIR/hub.yaml             configuration of a hub that collects from all of them
//   DIR/day-D/project-P/     tables.xml, user.gz, host.gz and team.gz in the form of BOINC's own export, and
//                            get_project_config.php, server_status.php and app_versions.php
//
// A web server of the directory day-D plays all projects on that day.
//
// A pure function of the options: each record is computed from its number alone, in integers, so the same options give the same
// XML on every machine, and memory does not grow with the records (24 bytes per team). Only the bytes of compressed files
// depend on the release of zlib.
//
//   projects   the first is the largest: project P has a share of 1/(P + 2)
//   people     each person has one id (cpid), one name and one country, and accounts at about two of thirty projects; one account
//              in 50 was created with another e-mail address, so its id is its own
//   machines   each host belongs to an account; the same machine of a person has the same id at all projects
//   teams      one for every 20 users. A team has one name at all projects; its total is the sum of its members'
//   credit     heavy-tailed: half of the accounts with more than any total have more than twice as much
//   days       one user and one host in 20 changes on each day; a team changes with its members. One in 2,000 is new, and one in
//              20,000 leaves
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::traffic {

struct FederationOptions {
  std::uint64_t seed = 1;
  std::uint32_t projects = 30;
  std::uint64_t users = 10'000'000;  // of all projects on day 0
  std::uint64_t hosts = 30'000'000;
  double scale = 1;  // multiplies users and hosts
  std::uint32_t days = 1;
  std::uint64_t start_time = 1'790'000'000;         // UNIX s, of the export of day 0
  bool compress = true;                             // gzip; false: user.xml, host.xml and team.xml
  std::string base_url = "http://127.0.0.1:8900/";  // of the web server; project P is below project-P/
};

// InvalidArgument names the option, its value and the valid values.
Status CheckFederationOptions(const FederationOptions& options);

struct FederationSize {
  std::uint64_t users = 0;
  std::uint64_t hosts = 0;
  std::uint64_t teams = 0;
};
// On day 0, by project.
std::vector<FederationSize> FederationSizes(const FederationOptions& options);

struct FederationPoint {
  std::uint64_t done = 0;   // records
  std::uint64_t all = 0;    // an estimate: those of day 0 on every day
  std::uint64_t bytes = 0;  // before compression
};

// Writes all files; `directory` is created. `threads`: projects that are written at a time. `progress` is called now and then, by
// the calling thread. Errors: of the disk; files that were written stay.
Status WriteFederation(const FederationOptions& options, const std::string& directory, unsigned threads,
                       const std::function<void(const FederationPoint&)>& progress);

}  // namespace cobblestone::traffic
