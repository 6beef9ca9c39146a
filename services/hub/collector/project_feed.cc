#include "services/hub/collector/project_feed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

#include "common/stream/hash128.h"
#include "common/stream/record.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/feed_reason.h"
#include "services/hub/feeds/app_versions.h"
#include "services/hub/feeds/document.h"
#include "services/hub/feeds/export_fetch.h"
#include "services/hub/feeds/feed_folder.h"
#include "services/hub/feeds/next_step.h"

namespace cobblestone::hub {

namespace fs = std::filesystem;

namespace {

// Of a version with fewer samples the scale is no evidence that an app has both kinds of versions.
constexpr double kSamples = 100;
constexpr std::size_t kLongestReasons = 1000;  // bytes; a project has any number of daemons
constexpr long kAnswerMs = 60'000;             // for an answer of at most 1 MiB

std::uint64_t Milliseconds(double now) { return static_cast<std::uint64_t>(now * 1000); }

// As std::strftime, in UTC.
std::string TimeText(double now, const char* format) {
  const auto seconds = static_cast<std::time_t>(now);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, format, &utc);
  return std::string(text, size);
}

std::string MonthOf(double now) { return TimeText(now, "%Y-%m"); }

Status DiskError(const std::string& what, const std::string& path) {
  return Status::Unwritten(errno, "cannot " + what + " " + path + ": " + std::strerror(errno));
}

std::string WithSlash(std::string url) {
  if (!url.empty() && url.back() != '/') url += '/';
  return url;
}

// A number for a name that has none. 53 bits, so that a JSON reader keeps it.
std::uint64_t NumberOf(const std::string& name) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 53) - 1;
  const std::uint64_t number = stream::HashBytes(name).low & kMask;
  return number == 0 ? 1 : number;
}

wire::FeedVersions VersionsOf(const std::vector<PublishedVersion>& published, double now) {
  const std::vector<std::string> both = AppsWithBothKinds(published, kSamples);
  wire::FeedVersions report{.as_of = now};
  for (const PublishedVersion& one : published) {
    if (!one.problem.empty()) continue;
    report.versions.push_back(
        {.app = NumberOf(one.app),
         .app_name = one.app,
         .app_version = one.id != 0 ? one.id
                                    : NumberOf(one.app + "/" + one.platform + "/" +
                                               std::to_string(one.version_num) + "/" + one.plan_class),
         .platform = one.platform,
         .plan_class = one.plan_class,
         .resource = one.plan.resource,
         .samples = one.samples,
         .scale = one.scale,
         .recent_credit = one.recent_average,
         .recent_time = one.recent_average_time,
         .both_kinds = std::binary_search(both.begin(), both.end(), one.app)});
  }
  return report;
}

// The versions with a bad field, for people; empty: none.
std::string LeftOutOf(const std::vector<PublishedVersion>& published) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t count = 0;
  for (const PublishedVersion& one : published)
    if (!one.problem.empty() && ++count <= kShown)
      text += (text.empty() ? "" : "; ") + std::string("version ") + std::to_string(one.id) + " of " +
              Printable(one.app, 40) + ": " + one.problem;
  return count == 0
             ? text
             : "app_versions.php: " + std::to_string(count) + " of " + std::to_string(published.size()) +
                   " versions are left out (" + text + (count > kShown ? "; ..." : "") + ")";
}

wire::FeedCondition ConditionOf(HealthState state) {
  switch (state) {
    case HealthState::kFine: return wire::FeedCondition::kFine;
    case HealthState::kMoved: return wire::FeedCondition::kMoved;
    case HealthState::kDown: return wire::FeedCondition::kUnreachable;
    case HealthState::kStopped: return wire::FeedCondition::kStopped;
    case HealthState::kValidatorStuck: return wire::FeedCondition::kStuck;
    case HealthState::kNoWork: return wire::FeedCondition::kNoWork;
    case HealthState::kUnknown: break;
  }
  return wire::FeedCondition::kUnknown;
}

// Why the fetch cannot be used; empty: it can. A project need not have a file of each kind, but one that it had does not
// just disappear. *text: for the log, with URLs.
FetchProblem ProblemOf(const ExportFetch& fetched, const FeedState& state, std::string* text) {
  if (fetched.imported) return {};
  FetchProblem problem;
  NextSteps steps;
  const auto add = [&](const std::string& what, const std::string& cause, std::string_view step) {
    *text += (text->empty() ? "" : "; ") + what;
    problem.cause += (problem.cause.empty() ? "" : "; ") + cause;
    steps.Add(step);
  };
  // Files without tables.xml are held. If the directory has vanished, the files are missing, too.
  const bool no_tables = !fetched.before && fetched.failure == FetchFailure::kMissing;
  if (!no_tables && fetched.failure != FetchFailure::kNone)
    add(fetched.text, fetched.cause,
        fetched.problem == FileProblem::kNone ? NextStep(fetched.failure) : NextStep(fetched.problem));
  bool any = false;
  for (const FetchedKind& kind : fetched.kinds) {
    bool had = false;
    for (std::size_t n = 0; n < kRecordKinds.size(); ++n)
      had = had || (kRecordKinds[n] == kind.kind && state.memory[n].accepted);
    any = any || kind.failure == FetchFailure::kNone;
    if (kind.failure != FetchFailure::kNone && (kind.failure != FetchFailure::kMissing || had))
      add(kind.text, kind.cause, NextStep(kind.failure));
  }
  constexpr const char* kNone = "the project has none of the statistics files";
  if (!any && text->empty()) add(kNone, kNone, NextStep(FetchFailure::kMissing));
  problem.step = steps.Text();
  return problem;
}

}  // namespace

Result<std::unique_ptr<ProjectFeed>> ProjectFeed::Open(const std::string& directory,
                                                       CollectedProject project) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Status::Unwritten(error.value(), "cannot create " + directory + ": " + error.message());
  std::unique_ptr<ProjectFeed> feed(new ProjectFeed(directory, std::move(project)));
  auto state = LoadFeedState(feed->In("state.json"));
  if (!state.ok()) return state.status();
  feed->state_ = std::move(*state);
  return feed;
}

double ProjectFeed::next(const ScheduleLimits& limits) const {
  return NextFetch(state_.history, project_.id.value, limits);
}

Status ProjectFeed::Round(Fetcher& fetcher, const FetchLimits& limits, double now, HubIntake& hub,
                          const ReportFeed& report, const std::stop_token& stop) {
  if (state_.sending) {
    if (Status s = SendFacts(hub, report); !s.ok()) return s;
    if (Status s = FinishSending(hub, report); !s.ok()) return s;
  }
  if (Status s = AddFact(now, "project",
                         wire::FeedProject{.name = project_.name,
                                           .url = project_.url,
                                           .mode = wire::FeedMode::kFiles,
                                           .ownership_key = project_.ownership_key,
                                           .points_per_cobblestone = project_.points_per_cobblestone,
                                           .erase_after = project_.erase_after,
                                           .shared_accounts = project_.shared_accounts,
                                           .account_manager = project_.account_manager,
                                           .points_since = project_.points_since});
      !s.ok())
    return s;
  Health health;
  if (Status s = Facts(fetcher, limits, now, report, stop, &health); !s.ok()) return s;
  FetchProblem problem;
  if (project_.statistics.empty()) {
    state_.history.last_attempt = state_.history.last_success = now;
  } else if (Status s = Statistics(fetcher, limits, now, report, stop, &problem); !s.ok()) {
    return s;
  }
  // What a fetch that was interrupted would say is not so.
  if (!stop.stop_requested())
    if (Status s = AddHealth(now, health, problem); !s.ok()) return s;
  if (Status s = SendFacts(hub, report); !s.ok()) return s;
  return state_.sending ? FinishSending(hub, report) : Status::Ok();
}

Status ProjectFeed::Release() {
  bool any = false;
  for (KindMemory& memory : state_.memory)
    if (memory.held) {
      memory.released = memory.held->contents;
      any = true;
    }
  const std::string project = "project " + std::to_string(project_.id.value);
  if (!any && !state_.held_reason.empty())
    return Status::NotFound("the held files of " + project +
                            " cannot be read, so there is nothing to accept: " + state_.held_reason +
                            ". The project has to repair them; `cobblestone hub collect` fetches them again");
  if (!any) return Status::NotFound("no file of " + project + " is held");
  state_.history.confirm_at = 1;  // with the next round, at once
  return Save();
}

// ---- Facts --------------------------------------------------------------------------------------------------

Status ProjectFeed::AddFact(double now, const std::string& kind, wire::EventBody body) {
  // Of a report the time alone is no news.
  wire::EventBody compared = body;
  if (auto* versions = std::get_if<wire::FeedVersions>(&compared)) versions->as_of = 1;
  const std::uint64_t hash =
      stream::HashBytes(wire::EncodeEvent({.head = {}, .body = std::move(compared)})).low;
  if (const auto known = state_.last_facts.find(kind);
      known != state_.last_facts.end() && known->second == hash)
    return Status::Ok();
  // Names and ids contain the time, so that they are new even if the directory was lost.
  if (state_.facts_file.empty() || MonthOf(now) != MonthOf(state_.facts_since)) {
    state_.facts_file = "facts-" + std::to_string(Milliseconds(now)) + ".pb";
    state_.facts_since = now;
    state_.facts_bytes = 0;
  }
  state_.last_fact = std::max(state_.last_fact + 1, Milliseconds(now));
  std::string bytes;
  stream::AppendRecord(
      bytes, wire::EncodeEvent({.head = {.id = state_.last_fact, .project = project_.id, .time = now},
                                .body = std::move(body)}));
  // What is behind the bytes that count was written by a round that died.
  const std::string path = In(state_.facts_file);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return DiskError("write", path);
  const auto at = static_cast<off_t>(state_.facts_bytes);
  const bool written = ::ftruncate(fd, at) == 0 &&
                       ::pwrite(fd, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size()) &&
                       ::fsync(fd) == 0;
  const Status failed = written ? Status::Ok() : DiskError("write", path);
  ::close(fd);
  if (!written) return failed;
  state_.facts_bytes += bytes.size();
  state_.last_facts[kind] = hash;
  return Save();
}

Status ProjectFeed::SendFacts(HubIntake& hub, const ReportFeed& report) {
  if (state_.facts_bytes == 0) return Status::Ok();
  const std::string path = In(state_.facts_file);
  if (::truncate(path.c_str(), static_cast<off_t>(state_.facts_bytes)) != 0) return DiskError("write", path);
  const auto sent = Send(hub, state_.facts_file, path);
  if (!sent.ok()) return sent.status();
  if (sent->refused > 0) {
    // The hub does not know them, so they are news again.
    state_.last_facts.clear();
    report("the hub has refused what was sent about the project (" + sent->reasons +
           "); it is sent again with the next round");
  }
  return Save();
}

// ---- Sending ------------------------------------------------------------------------------------------------

Result<SentEvents> ProjectFeed::Send(HubIntake& hub, const std::string& source, const std::string& file) {
  if (!state_.refused_from) {
    const auto before = hub.RefusedSoFar();
    if (!before.ok()) return before.status();
    state_.refused_from = *before;
    if (Status s = Save(); !s.ok()) return s;
  }
  auto sent = hub.Send(project_.id, "feed/" + std::to_string(project_.id.value) + "/" + source, file,
                       *state_.refused_from);
  if (sent.ok()) state_.refused_from.reset();
  return sent;
}

Status ProjectFeed::RemoveIndexes() {
  for (const RecordKind kind : kRecordKinds)
    if (const std::string index = In(IndexName(kind)); ::unlink(index.c_str()) != 0 && errno != ENOENT)
      return DiskError("delete", index);
  return Status::Ok();
}

Status ProjectFeed::AddHealth(double now, const Health& health, const FetchProblem& problem) {
  const std::string& cause = problem.cause;
  const bool failed_before = state_.failing_since > 0;
  if (cause.empty()) {
    state_.failing_since = 0;
  } else if (!failed_before) {
    state_.failing_since = now;
  }
  wire::FeedHealth fact{.condition = ConditionOf(health.state)};
  const bool known = fact.condition != wire::FeedCondition::kUnknown;
  if (!cause.empty()) {
    if (!known || health.state == HealthState::kFine) fact.condition = wire::FeedCondition::kUnreachable;
    fact.reason = "fetching the statistics has failed since " +
                  TimeText(state_.failing_since, "%Y-%m-%d %H:%M UTC") + ": " + cause;
  } else if (!known) {
    if (!failed_before) return Status::Ok();
    fact = {.condition = wire::FeedCondition::kFine, .reason = "the statistics can be fetched again"};
  }
  for (const std::string& reason : health.reasons)
    if (known && fact.reason.size() < kLongestReasons)
      fact.reason += (fact.reason.empty() ? "" : "; ") + reason;
  NextSteps steps;
  steps.Add(problem.step);
  if (known) steps.Add(NextStep(health.state));
  fact.reason = wire::ReasonWithStep(fact.reason, steps.Text());
  return AddFact(now, "health", std::move(fact));
}

Status ProjectFeed::Facts(Fetcher& fetcher, const FetchLimits& limits, double now, const ReportFeed& report,
                          const std::stop_token& stop, Health* health) {
  if (project_.url.empty()) return Status::Ok();
  const std::string base = WithSlash(project_.url);
  const std::string path = In("answer");
  FetchLimits small = limits;
  small.largest = 1u << 20;
  small.total_ms = std::min(small.total_ms, kAnswerMs);
  const auto fetch = [&](const std::string& name) {
    return fetcher.Fetch({.url = base + name, .path = path}, small, stop);
  };
  HealthEvidence evidence{.master_url = project_.url};
  FetchResult answer = fetch("get_project_config.php");
  evidence.config_failure = answer.failure;
  evidence.moved_to = answer.moved_to;
  if (answer.outcome == FetchOutcome::kFetched) {
    auto config = ParseProjectConfig(DocumentBytes(path), "get_project_config.php");
    if (auto* good = std::get_if<ProjectConfig>(&config)) evidence.config = std::move(*good);
  }
  answer = fetch("server_status.php?xml=1");
  evidence.status_failure = answer.failure;
  if (answer.outcome == FetchOutcome::kFetched) {
    auto status = ParseServerStatus(DocumentBytes(path), "server_status.php");
    if (auto* good = std::get_if<ServerStatus>(&status)) evidence.status = std::move(*good);
  }
  *health = HealthOf(evidence, {});
  answer = fetch("app_versions.php");
  if (answer.outcome != FetchOutcome::kFetched) {
    if (answer.failure != FetchFailure::kMissing) report(answer.text);
    return Status::Ok();
  }
  const auto versions = ParseAppVersions(DocumentBytes(path), "app_versions.php");
  if (const auto* refused = std::get_if<FileRefusal>(&versions)) {
    report(refused->Text());
    return Status::Ok();
  }
  const auto& published = std::get<std::vector<PublishedVersion>>(versions);
  if (const std::string left_out = LeftOutOf(published); !left_out.empty()) report(left_out);
  return AddFact(now, "versions", VersionsOf(published, now));
}

// ---- Statistics ---------------------------------------------------------------------------------------------

Status ProjectFeed::Statistics(Fetcher& fetcher, const FetchLimits& limits, double now,
                               const ReportFeed& report, const std::stop_token& stop, FetchProblem* problem) {
  auto folder = FeedFolder::Open(In("files"));
  if (!folder.ok()) return folder.status();
  ExportRequest wanted{.base_url = project_.statistics, .now = now};
  bool released = false;
  for (const KindMemory& memory : state_.memory) {
    if (memory.accepted && !state_.repeat)
      wanted.imported = std::max(wanted.imported, memory.accepted->update_time);
    released = released || memory.released.has_value();
  }
  // A confirming fetch must be a second transfer.
  wanted.in_full = state_.history.confirm_at > 0;
  FetchLimits own = limits;
  if (project_.fetch_time > 0) own.total_ms = static_cast<long>(project_.fetch_time * 1000);
  const ExportFetch fetched = FetchExport(fetcher, *folder, wanted, own, stop);
  if (stop.stop_requested()) return Status::Ok();
  state_.history.last_attempt = now;
  std::string text;
  if (*problem = ProblemOf(fetched, state_, &text); !text.empty()) {
    ++state_.history.failures;
    state_.history.retry_after = RetryAfter(fetched.retry_after, now).value_or(0);
    report(wire::ReasonWithStep(text, problem->step));
    return Save();
  }
  // While the hub refuses the edition, it is repeated less and less often.
  state_.history = {
      .last_attempt = now, .last_success = now, .failures = state_.repeat ? state_.history.failures : 0};
  if (fetched.imported) return Save();
  EditionRequest request{.project = project_.id,
                         .edition = std::max(state_.edition + 1, Milliseconds(now)),
                         .fetched = now,
                         .tables_before = fetched.before,
                         .tables_after = fetched.after,
                         .memory = state_.memory,
                         .indexes = directory_,
                         .work = In("work")};
  // A new tables.xml is news even if the server says that no file has changed: if that is not so, the sums tell.
  bool news = released || state_.repeat || state_.edition == 0 ||
              (fetched.before && fetched.before->update_time != wanted.imported);
  for (const FetchedKind& kind : fetched.kinds)
    for (std::size_t n = 0; n < kRecordKinds.size(); ++n)
      if (kRecordKinds[n] == kind.kind) {
        for (const std::string& name : kind.names) request.files[n].push_back(folder->PathOf(name));
        news = news || kind.changed;
      }
  if (!news) return Save();
  std::error_code error;
  fs::remove_all(request.work, error);
  fs::create_directories(request.work, error);
  if (error)
    return Status::Unwritten(error.value(), "cannot create " + request.work + ": " + error.message());
  auto made = MakeEdition(request);
  if (!made.ok()) return made.status();
  if (!made->accepted) {
    report("edition " + std::to_string(request.edition) +
           " is held: " + wire::ReasonWithStep(made->reason, made->next_step));
    for (const FetchedKind& kind : fetched.kinds)
      for (std::size_t n = 0; n < kRecordKinds.size(); ++n)
        if (kRecordKinds[n] == kind.kind && made->refused[n])
          for (const std::string& name : kind.names)
            if (Status s = folder->Forget(name); !s.ok()) return s;
    const bool known = made->reason == state_.held_reason;
    state_.memory = made->memory;
    // Other reasons wait for the next export or for an operator: fetching the same files again would change nothing.
    if (made->confirmable) state_.history.confirm_at = now + request.limits.confirm_after;
    if (known) return Save();
    state_.held_reason = made->reason;
    state_.held_since = now;
  } else {
    state_.held_reason.clear();
    state_.held_since = 0;
  }
  state_.next_memory = made->memory;
  state_.repeat = false;
  state_.edition = request.edition;
  state_.sending = true;
  state_.sending_accepted = made->accepted;
  return Save();
}

Status ProjectFeed::FinishSending(HubIntake& hub, const ReportFeed& report) {
  const std::string number = std::to_string(state_.edition);
  const std::string work = In("work");
  const auto sent = Send(hub, "edition-" + number, work + "/" + kEventsName);
  if (!sent.ok()) return sent.status();
  if (sent->edition_refused) {
    report("the hub has refused edition " + number + " (" + sent->reasons +
           "); the project's accounts stay as they were there, and all of them are sent again");
    if (Status s = RepeatEdition(); !s.ok()) return s;
  } else {
    state_.history.failures = 0;
  }
  if (!sent->edition_refused && state_.sending_accepted) {
    for (const RecordKind kind : kRecordKinds) {
      const std::string index = work + "/" + IndexName(kind);
      // Absent: the project has no such file, or the process died behind this step.
      if (fs::exists(index) && ::rename(index.c_str(), In(IndexName(kind)).c_str()) != 0)
        return DiskError("replace", In(IndexName(kind)));
    }
    state_.memory = state_.next_memory;
    if (sent->refused == 0) {
      report("edition " + number + " is complete");
    } else {
      report("edition " + number + " is complete without accounts that the hub has refused (" +
             sent->reasons + "); all accounts are sent again with the next edition");
      if (Status s = RemoveIndexes(); !s.ok()) return s;
    }
  }
  state_.sending = false;
  state_.next_memory = {};
  if (Status s = Save(); !s.ok()) return s;
  std::error_code stays;  // the next edition removes it
  fs::remove_all(work, stays);
  return Status::Ok();
}

Status ProjectFeed::RepeatEdition() {
  if (Status s = RemoveIndexes(); !s.ok()) return s;
  ++state_.history.failures;
  state_.repeat = true;
  state_.held_reason.clear();
  state_.held_since = 0;
  return Status::Ok();
}

}  // namespace cobblestone::hub
