#include "services/replay/replay.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "common/credit/policies/policy.h"
#include "common/wire/events/event_codec.h"
#include "services/events/event_file.h"
#include "services/pipeline/event_time.h"

namespace cobblestone::replay {

using events::EventFile;
using events::EventItem;
using pipeline::TickMaker;

namespace {

int DeviceClass(const GrantRow& row, const credit::Catalogue* catalogue) {
  if (row.version.anonymous()) return 2;
  const credit::AppVersionRow* version = catalogue == nullptr ? nullptr : catalogue->FindVersion(row.version);
  return version != nullptr && version->IsGpu() ? 1 : 0;
}

const credit::Catalogue* CatalogueOf(const LockstepPipeline& pipeline, ProjectId project) {
  const coordinator::ProjectState* state = pipeline.slots().back().stages.coordinator->projects().Find(
      {.project = project.value, .id = 0, .sub = 0});
  return state == nullptr ? nullptr : &state->catalogue;
}

// Sets another policy in an app's event. The constants belong to the old policy and are dropped.
std::string WithPolicy(const wire::Event& event, const std::string& policy) {
  wire::Event changed = event;
  auto& app = std::get<wire::AppChange>(changed.body);
  if (app.policy != policy) app.constants.reset();
  app.policy = policy;
  return wire::EncodeEvent(changed);
}

struct Output {
  std::string path;
  std::ofstream file;

  Status Open() {
    if (path.empty()) return Status::Ok();
    file.open(path, std::ios::binary | std::ios::trunc);
    if (!file)
      return Status::InvalidArgument("cannot write " + path +
                                     ": check that the directory exists and is writable");
    return Status::Ok();
  }
  Status Line(const std::string& text) {
    file << text << '\n';
    if (!file) return Status::Fatal("writing " + path + " failed: check for a full disk");
    return Status::Ok();
  }
};

// A file's events about apps, by project and app; the last event of each app.
using Apps = std::map<std::pair<std::uint32_t, std::uint64_t>, wire::AppChange>;

Result<Apps> ReadApps(const std::string& path) {
  Apps apps;
  if (path.empty()) return apps;
  auto file = EventFile::Open(path);
  if (!file.ok()) return file.status();
  const Status read = (*file)->ForEach([&](const EventItem& item) -> Status {
    const auto event = item.bad() ? Result<wire::Event>(Status::InvalidArgument(item.problem))
                                  : wire::ParseEvent(item.envelope);
    const std::string line = path + ", line " + std::to_string(item.line + 1) + ": ";
    if (!event.ok()) return Status::InvalidArgument(line + event.status().message());
    const auto* app = std::get_if<wire::AppChange>(&event->body);
    if (app == nullptr)
      return Status::InvalidArgument(line + "is not an app event; this file must contain only app events");
    apps[{event->head.project.value, app->app.value}] = *app;
    return Status::Ok();
  });
  if (!read.ok()) return read;
  return apps;
}

// The same event, with the body that `apps` has for its app, if any.
std::string WithApp(const wire::Event& event, const Apps& apps) {
  wire::Event changed = event;
  const auto found = apps.find({event.head.project.value, std::get<wire::AppChange>(event.body).app.value});
  if (found != apps.end()) changed.body = found->second;
  return wire::EncodeEvent(changed);
}

// What an app's event becomes in a run.
struct Rules {
  std::string policy;
  const Apps* apps = nullptr;

  [[nodiscard]] bool Change() const { return !policy.empty() || !apps->empty(); }
  [[nodiscard]] std::string Apply(const wire::Event& event) const {
    std::string bytes = apps->empty() ? wire::EncodeEvent(event) : WithApp(event, *apps);
    if (policy.empty()) return bytes;
    const auto changed = wire::ParseEvent(bytes);
    return changed.ok() ? WithPolicy(*changed, policy) : bytes;
  }
};

void Count(const GrantRow& row, std::size_t device, PolicyTotals& totals) {
  if (row.kind == wire::GrantKind::kFinal) {
    ++totals.grants;
  } else {
    const bool partial = row.kind == wire::GrantKind::kPartial;
    ++(partial ? totals.partials : totals.reversals);
    (partial ? totals.partial_micro : totals.reversal_micro) += row.micro;
  }
  totals.micro += row.micro;
  totals.by_app[row.app.value] += row.micro;
  totals.by_device[device] += row.micro;
  totals.by_host[row.host.value][device] += row.micro;
  if (row.user) totals.by_user[row.user.value] += row.micro;
}

// `later`: the rules from options.switch_at on, if that is set.
Status RunOnce(const ReplayOptions& options, const Rules& first, const Rules& later, Output& grants_out,
               Output& state_out, ReplaySummary& summary, PolicyTotals& totals) {
  LockstepPipeline* running = nullptr;
  const Rules* rules = &first;
  bool counts = options.switch_at == 0;
  std::uint64_t counted_from = 0;  // line
  double latest = 0;               // event time
  std::map<std::pair<std::uint32_t, std::uint64_t>, wire::Event>
      apps;  // newest event of each, as in the file
  // Versions of dispatched jobs, for the rows of partial grants and reversals, which contain none.
  std::map<std::pair<ProjectId, ResultId>, AppVersionId> versions;
  LockstepPipeline pipeline(options.partitions, [&](const GrantRow& emitted) {
    GrantRow row = emitted;
    if (row.kind != wire::GrantKind::kFinal) {
      if (const auto sent = versions.find({row.project, row.result}); sent != versions.end())
        row.version = sent->second;
    }
    if (counts && row.event >= counted_from)
      Count(row, static_cast<std::size_t>(DeviceClass(row, CatalogueOf(*running, row.project))), totals);
    if (grants_out.path.empty()) return Status::Ok();
    return grants_out.Line(GrantRowJson(row));
  });
  running = &pipeline;
  summary.lines = summary.bad_lines = summary.events = 0;

  auto source = EventFile::Open(options.file, {.project = ProjectId(options.project)});
  if (!source.ok()) return source.status();
  const bool make_ticks = options.tick_period > 0 && !(*source)->has_own_ticks();
  TickMaker ticks(options.tick_period);
  EventItem item;
  std::uint64_t items = 0;
  for (;;) {
    auto more = (*source)->Next(&item);
    if (!more.ok()) return more.status();
    if (!*more) break;
    summary.lines = std::max(summary.lines, item.line + 1);
    if (options.progress && (++items & 0xfff) == 0)
      options.progress((*source)->bytes_read(), (*source)->bytes_total());
    if (!item.problem.empty()) {
      ++summary.bad_lines;
      continue;
    }
    std::string_view bytes = item.envelope;
    std::string changed;
    if (!bytes.empty()) {
      ++summary.events;
      const auto kind = wire::PeekKind(bytes);
      if (kind == wire::EventKind::kApp) {
        if (const auto event = wire::ParseEvent(bytes); event.ok()) {
          apps[{event->head.project.value, std::get<wire::AppChange>(event->body).app.value}] = *event;
          if (rules->Change()) {
            changed = rules->Apply(*event);
            bytes = changed;
          }
        }
      } else if (kind == wire::EventKind::kDispatch) {
        if (const auto event = wire::ParseEvent(bytes); event.ok()) {
          const credit::CompletionFacts& facts = std::get<wire::Dispatch>(event->body).facts;
          versions[{event->head.project, facts.result}] = facts.version;
        }
      }
      if (make_ticks) {
        Status fed;
        ticks.Observe(bytes, [&](const std::string& tick) {
          if (fed.ok()) fed = pipeline.Feed(tick, item.line, true);
        });
        if (!fed.ok()) return fed;
      }
      const double time = wire::PeekEventTime(bytes).value_or(0);
      latest = std::max(latest, time);
      if (!counts && time >= options.switch_at) {
        counts = true;
        counted_from = item.line;
        rules = &later;
        for (auto& [key, app] : apps) {
          if (&later == &first) break;
          app.head.time = time;
          app.head.id = std::uint64_t{1} << 60;  // no event of the project has this number
          if (Status s = pipeline.Feed(rules->Apply(app), item.line, false); !s.ok()) return s;
        }
      }
    }
    if (Status s = pipeline.Feed(bytes, item.line, item.barrier); !s.ok()) return s;
  }
  if (Status s = pipeline.Finish(); !s.ok()) return s;
  if (!counts) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "no event is as late as --switch-at %.0f; the latest event has time %.0f",
                  options.switch_at, latest);
    return Status::InvalidArgument(text);
  }
  summary.refused = pipeline.refused();
  if (!state_out.path.empty())
    return pipeline.WriteState([&](const std::string& row) { return state_out.Line(row); });
  return Status::Ok();
}

std::string RunName(const std::string& policy, const std::string& apps) {
  if (policy.empty() && apps.empty()) return "as in the file";
  const std::string file = std::filesystem::path(apps).filename().string();
  return policy + (policy.empty() || apps.empty() ? "" : ", ") + file;
}

}  // namespace

Result<ReplaySummary> Replay(const ReplayOptions& options) {
  for (const std::string& policy : {options.policy, options.compare_policy})
    if (!policy.empty() && !credit::PolicyKindByName(policy))
      return Status::InvalidArgument(
          "unknown policy '" + policy +
          "'; policies: boinc, creditnew, creditnew-v2, robust, benchmark, reported-flops, runtime, "
          "assigned, none");
  if (options.partitions < 1 || options.partitions > 1024)
    return Status::InvalidArgument("partitions must be between 1 and 1024");
  ReplaySummary summary;
  Output grants{options.grants_out, {}};
  Output state{options.state_out, {}};
  if (Status s = grants.Open(); !s.ok()) return s;
  if (Status s = state.Open(); !s.ok()) return s;
  const auto apps = ReadApps(options.apps);
  if (!apps.ok()) return apps.status();
  const auto compare_apps = ReadApps(options.compare_apps);
  if (!compare_apps.ok()) return compare_apps.status();
  summary.first.policy = RunName(options.policy, options.apps);
  if (options.switch_at != 0 && (!options.compares() || !(options.switch_at > 0)))
    return Status::InvalidArgument(
        "--switch-at is an event time in UNIX seconds, at which the second run changes its rules: give "
        "--compare-policy or --compare-apps too");
  const Rules rules{options.policy, &*apps};
  if (Status s = RunOnce(options, rules, rules, grants, state, summary, summary.first); !s.ok()) return s;
  if (options.compares()) {
    Output nothing;
    summary.second.policy = RunName(options.compare_policy, options.compare_apps);
    ReplaySummary ignored;
    const Rules compared{options.compare_policy, &*compare_apps};
    const Rules& before = options.switch_at > 0 ? rules : compared;
    if (Status s = RunOnce(options, before, compared, nothing, nothing, ignored, summary.second); !s.ok())
      return s;
  }
  return summary;
}

}  // namespace cobblestone::replay
