#include "services/replay/replay.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

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

Status RunOnce(const ReplayOptions& options, const std::string& policy, const Apps& apps, Output& grants_out,
               Output& state_out, ReplaySummary& summary, PolicyTotals& totals) {
  LockstepPipeline* running = nullptr;
  // Versions of dispatched jobs, for the rows of partial grants and reversals, which contain none.
  std::map<std::pair<ProjectId, ResultId>, AppVersionId> versions;
  LockstepPipeline pipeline(options.partitions, [&](const GrantRow& emitted) {
    GrantRow row = emitted;
    if (row.kind != wire::GrantKind::kFinal) {
      if (const auto sent = versions.find({row.project, row.result}); sent != versions.end())
        row.version = sent->second;
      const bool partial = row.kind == wire::GrantKind::kPartial;
      ++(partial ? totals.partials : totals.reversals);
      (partial ? totals.partial_micro : totals.reversal_micro) += row.micro;
    } else {
      ++totals.grants;
    }
    totals.micro += row.micro;
    totals.by_app[row.app.value] += row.micro;
    totals.by_device[static_cast<std::size_t>(DeviceClass(row, CatalogueOf(*running, row.project)))] +=
        row.micro;
    totals.by_host[row.host.value] += row.micro;
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
      if (kind == wire::EventKind::kApp && (!policy.empty() || !apps.empty())) {
        auto event = wire::ParseEvent(bytes);
        if (event.ok() && !apps.empty()) {
          changed = WithApp(*event, apps);
          bytes = changed;
          event = wire::ParseEvent(bytes);
        }
        if (event.ok() && !policy.empty()) {
          changed = WithPolicy(*event, policy);
          bytes = changed;
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
    }
    if (Status s = pipeline.Feed(bytes, item.line, item.barrier); !s.ok()) return s;
  }
  if (Status s = pipeline.Finish(); !s.ok()) return s;
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

std::string Credits(credit::MicroTotal micro) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(micro) / 1e6);
  return text;
}

std::string Row(const std::string& name, credit::MicroTotal a, credit::MicroTotal b) {
  char text[256];
  const double ratio = a == 0 ? 0 : 100.0 * (static_cast<double>(b) / static_cast<double>(a) - 1);
  std::snprintf(text, sizeof text, "  %-24s %20s %20s %20s %9.2f %%\n", name.c_str(), Credits(a).c_str(),
                Credits(b).c_str(), Credits(b - a).c_str(), ratio);
  return text;
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
  if (Status s = RunOnce(options, options.policy, *apps, grants, state, summary, summary.first); !s.ok())
    return s;
  if (options.compares()) {
    Output nothing;
    summary.second.policy = RunName(options.compare_policy, options.compare_apps);
    ReplaySummary ignored;
    if (Status s = RunOnce(options, options.compare_policy, *compare_apps, nothing, nothing, ignored,
                           summary.second);
        !s.ok())
      return s;
  }
  return summary;
}

std::string DescribeComparison(const ReplaySummary& summary) {
  const PolicyTotals& a = summary.first;
  const PolicyTotals& b = summary.second;
  char head[256];
  std::snprintf(head, sizeof head, "  %-24s %20s %20s %20s %11s\n", "", a.policy.c_str(), b.policy.c_str(),
                "difference", "");
  std::string text = head;
  text += Row("all", a.micro, b.micro);
  if (a.partials + b.partials > 0) {
    text += Row("trickle payments", a.partial_micro, b.partial_micro);
    text += Row("final grants", a.micro - a.partial_micro - a.reversal_micro,
                b.micro - b.partial_micro - b.reversal_micro);
    text += Row("reversed", a.reversal_micro, b.reversal_micro);
  }
  std::map<std::uint64_t, std::pair<credit::MicroTotal, credit::MicroTotal>> apps;
  for (const auto& [app, micro] : a.by_app) apps[app].first = micro;
  for (const auto& [app, micro] : b.by_app) apps[app].second = micro;
  for (const auto& [app, pair] : apps) text += Row("app " + std::to_string(app), pair.first, pair.second);
  static constexpr const char* kDevices[] = {"CPU versions", "GPU versions", "anonymous platform"};
  for (std::size_t d = 0; d < 3; ++d) text += Row(kDevices[d], a.by_device[d], b.by_device[d]);

  std::map<std::uint64_t, std::pair<credit::MicroTotal, credit::MicroTotal>> by_host;
  for (const auto& [host, micro] : a.by_host) by_host[host].first = micro;
  for (const auto& [host, micro] : b.by_host) by_host[host].second = micro;
  std::vector<std::pair<credit::MicroTotal, std::uint64_t>> change;
  for (const auto& [host, pair] : by_host) change.emplace_back(pair.second - pair.first, host);
  std::sort(change.begin(), change.end());
  const std::size_t shown = std::min<std::size_t>(5, change.size());
  text += "hosts with the largest gains\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [difference, host] = change[change.size() - 1 - i];
    if (difference <= 0) break;
    text += Row("host " + std::to_string(host), by_host[host].first, by_host[host].second);
  }
  text += "hosts with the largest losses\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [difference, host] = change[i];
    if (difference >= 0) break;
    text += Row("host " + std::to_string(host), by_host[host].first, by_host[host].second);
  }
  return text;
}

}  // namespace cobblestone::replay
