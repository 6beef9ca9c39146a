// The fields of one record of a statistics file (tests/golden/export/README.md, "Elements, in order").
//
// Texts are views into the record as the file has it; TextBytes() of feed_text.h gives the project's bytes. Elements
// that are not listed are skipped. The first of two equal elements counts, so that a country, which BOINC does not
// escape, cannot replace what stands before it. Pure functions, for any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/hub/feeds/figures.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

// 32 hexadecimal digits, or empty: absent, or something else, which nothing can be joined by.
bool IsCrossProjectId(std::string_view text);

struct UserFields {
  std::uint64_t id = 0;
  std::string_view name{};
  std::string_view country{};
  std::string_view url{};
  std::string_view cpid{};
  double create_time = 0;  // UNIX s; 0: unknown
  CreditFigure total_credit{};
  CreditFigure recent_average{};  // may be negative
  double recent_average_time = 0;
  std::uint64_t team = 0;  // 0: none, also for BOINC's -1
  bool has_profile = false;
};

struct TeamFields {
  std::uint64_t id = 0;
  std::string_view name{};
  std::string_view country{};
  std::string_view url{};
  std::string_view description{};
  std::uint64_t type = 0;
  std::uint64_t founder = 0;
  double create_time = 0;
  CreditFigure total_credit{};
  CreditFigure recent_average{};
  double recent_average_time = 0;
};

struct HostFields {
  std::uint64_t id = 0;
  std::uint64_t user = 0;  // 0: the owner hides the hosts, or the file has no detail
  CreditFigure total_credit{};
  CreditFigure recent_average{};
  double recent_average_time = 0;
  std::string_view vendor{};
  std::string_view model{};
  std::string_view os_name{};
  std::string_view os_version{};
  // JSON of server builds since November 2025, as the client sent it; before: what <coprocs> contains.
  std::string_view devices{};
  std::string_view cpid{};
  double create_time = 0;
  double last_contact = 0;
  // Absent: not in the file, or no finite number.
  std::optional<double> cpus{};
  std::optional<double> flops{};           // Whetstone, FLOP/s of one processor
  std::optional<double> iops{};            // Dhrystone
  std::optional<double> memory{};          // bytes
  std::optional<double> disk{};            // bytes
  std::optional<double> turnaround{};      // s
  std::optional<double> credit_per_cpu{};  // Cobblestones per CPU second
};

// kAccount leaves the optional fields absent: parsing them takes longer than all others.
enum class HostPart : std::uint8_t { kAll, kAccount };

class ElementScan;

// What is wrong with a record. `field` is the element, `text` what it contains.
struct FieldProblem {
  FileProblem problem = FileProblem::kNone;
  std::string_view field{};
  std::string_view text{};

  [[nodiscard]] bool ok() const { return problem == FileProblem::kNone; }
};

// Why the text does not continue with an element where reading stopped.
FieldProblem ProblemOfScan(const ElementScan& scan);

// `record`: the text between the tags of the record. On a problem the fields are those read so far.
FieldProblem ReadUserFields(std::string_view record, UserFields* user);
FieldProblem ReadTeamFields(std::string_view record, TeamFields* team);
FieldProblem ReadHostFields(std::string_view record, HostFields* host, HostPart part = HostPart::kAll);

// True for a host that a server build from 14 November 2025 to 22 February 2026 wrote: a misplaced comma made the text
// of the element <misc> an argument, and each following value went into the element before its own. Such a record is
// recognized by markup in the processor's name, or by two values that no host can have. One such host can be an
// accident, see StatisticsReader.
bool ShiftedHost(std::string_view record);

}  // namespace cobblestone::hub
