#include "services/hub/feeds/next_step.h"

#include <algorithm>

namespace cobblestone::hub {
namespace {

constexpr std::string_view kOpen =
    "Open the file at the address of the statistics: it has to be the project's own statistics file.";
constexpr std::string_view kCompareTables =
    "Compare the file with tables.xml at the address of the statistics: they may be of two exports.";
constexpr std::string_view kTestDamage =
    "Fetch the file by hand and test it with `gzip -t`: if it is damaged then as well, tell the project.";
constexpr std::string_view kTellTheLine =
    "Look at this line of the file, and tell the project what is wrong with it.";
constexpr std::string_view kPage =
    "Open the address of the statistics in a browser: it may show a login, a notice of maintenance, or where the "
    "files are now.";
constexpr std::string_view kLocalDisk = "Look at the disk of this machine: it is full or reports errors.";

}  // namespace

std::string_view NextStep(HoldReason reason) {
  switch (reason) {
    case HoldReason::kNoTables:
      return "Look whether tables.xml is at the address of the statistics: without it no count can be checked.";
    case HoldReason::kTablesChanged:
      return "Wait for the next fetch: the project was writing its export during this one.";
    case HoldReason::kEmpty:
      return "Ask the project whether its export failed, or whether it has deleted its accounts.";
    case HoldReason::kDisappeared:
      return "Ask the project whether these accounts withdrew their consent or were deleted: a failed export "
             "looks the same.";
    case HoldReason::kTotalFell: return "Ask the project whether it has taken credit back.";
    case HoldReason::kImpossibleRise:
      return "Look at this account on the project's own page, and ask the project whether its credit is right.";
    case HoldReason::kMoreThanAnnounced:
    case HoldReason::kTeamsDiffer:
    case HoldReason::kSumDiffers: return kCompareTables;
    case HoldReason::kTimeBack:
      return "Ask the project whether it has restored a backup: a proxy that answers with an old file looks the "
             "same.";
    case HoldReason::kFromTheFuture:
      return "Compare the clock of this machine with update_time of tables.xml: if the project's clock is ahead, "
             "tell the project.";
    case HoldReason::kSameTime:
      return "Ask the project why the file changed without a new tables.xml: a damaged transfer looks the same.";
    case HoldReason::kOtherAccounts:
      return "Compare some accounts with the project's own pages, and do not accept the file of another project.";
    case HoldReason::kMultiplied:
      return "Compare some totals with the project's own pages, and ask the project whether it counts in other "
             "points now.";
  }
  return "";
}

std::string_view NextStep(FileProblem problem) {
  switch (problem) {
    case FileProblem::kNone: return "";
    case FileProblem::kEmpty:
    case FileProblem::kHtml:
    case FileProblem::kNotStatistics: return kOpen;
    case FileProblem::kDamagedCompression:
    case FileProblem::kTruncated: return kTestDamage;
    case FileProblem::kForeignArchive:
      return "Ask the project to publish the file with gzip or zstd, or not compressed.";
    case FileProblem::kTooLarge:
      return "Tell the project: the file, once it is unpacked, is larger than statistics files can be.";
    case FileProblem::kUnreadable: return kLocalDisk;
    case FileProblem::kTwoContents: return "Ask the project which of the two records is right.";
    case FileProblem::kChunkHeader:
      return "Tell the project: a program or a proxy of it writes the chunked transfer coding into the file.";
    case FileProblem::kShiftedNumbers:
      return "Ask the project to update its server: builds from November 2025 to February 2026 write such files.";
    case FileProblem::kRecordCut:
    case FileProblem::kRecordTooLong:
    case FileProblem::kBytesBetween:
    case FileProblem::kMissingElement:
    case FileProblem::kUnclosedElement:
    case FileProblem::kTooManyDigits:
    case FileProblem::kNotANumber:
    case FileProblem::kInfinite:
    case FileProblem::kNegative:
    case FileProblem::kExponent:
    case FileProblem::kThousands:
    case FileProblem::kMalformed:
    case FileProblem::kOutOfRange:
    case FileProblem::kNoFigure: return kTellTheLine;
  }
  return "";
}

std::string_view NextStep(FetchFailure failure) {
  switch (failure) {
    case FetchFailure::kNone: return "";
    case FetchFailure::kForbiddenUrl:
      return "Check `url` and `statistics` of the project in the configuration; for addresses of your own network "
             "start the collector with --private-addresses.";
    case FetchFailure::kUnreachable:
      return "If the project's pages open in a browser, check `statistics` and the network of this machine; else "
             "wait, because the collector tries again.";
    case FetchFailure::kTls:
      return "Open the address in a browser: if its certificate is wrong there as well, tell the project; for an "
             "authority of your own start the collector with --ca-file.";
    case FetchFailure::kTimeout:
      return "If the server is slow but works, set `fetch_time` of the project to more.";
    case FetchFailure::kTooLarge:
      return "Look at the size of the project's files: those of an export may have 16 GiB together, and tables.xml "
             "1 MiB.";
    case FetchFailure::kIncomplete:
      return "Wait, because the collector tries again; if it fails for days, tell the project that its server ends "
             "transfers too early.";
    case FetchFailure::kRedirects:
      return "Open the address in a browser, and set `statistics` to where the files are now.";
    case FetchFailure::kMissing:
      return "Look for the files, which many projects have in stats/ below their download address, and set "
             "`statistics` to their directory.";
    case FetchFailure::kRefused:
      return "Ask the project for access: its server wants a password, or blocks the address of this machine.";
    case FetchFailure::kServerError:
      return "Wait, because the collector tries again; if it fails for days, tell the project.";
    case FetchFailure::kPage:
    case FetchFailure::kPasswordPage: return kPage;
    case FetchFailure::kForeign:
      return "Look at the beginning of the file at its address: it is no statistics file, as XML or compressed.";
    case FetchFailure::kDisk: return kLocalDisk;
    case FetchFailure::kStopped: return "Start the collector again: it was stopped during the fetch.";
    case FetchFailure::kNotModifiedWithoutCopy:
      return "Tell the project: its server, or a proxy before it, answers 304 to a request without conditions.";
  }
  return "";
}

std::string_view NextStep(HealthState state) {
  if (state != HealthState::kMoved) return "";
  return "Ask the project whether the new address is its own, and set `url` and `statistics` to it.";
}

std::string HowItEnds(HeldEnd end, ProjectId project) {
  const std::string command = "`cobblestone hub release " + std::to_string(project.value) + " --config FILE`";
  switch (end) {
    case HeldEnd::kByProject:
      return "Nobody can accept a file that cannot be read: the collector fetches it again until the project has "
             "repaired it.";
    case HeldEnd::kByItself:
      return "If a second fetch an hour later has the same contents, they are accepted; to accept them at once, stop "
             "the collector, run " +
             command + ", and start it again.";
    case HeldEnd::kByOperator: break;
  }
  return "If the files are right, stop the collector, run " + command + ", and start it again.";
}

void NextSteps::Add(std::string_view step) {
  if (step.empty() || std::find(steps_.begin(), steps_.end(), step) != steps_.end()) return;
  steps_.emplace_back(step);
}

std::string NextSteps::Text() const {
  std::string text;
  for (const std::string& step : steps_) text += (text.empty() ? "" : " ") + step;
  return text;
}

}  // namespace cobblestone::hub
