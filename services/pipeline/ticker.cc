#include "services/pipeline/ticker.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/pipeline/event_time.h"

namespace cobblestone::pipeline {
namespace {

constexpr std::uint32_t kAllProjects = 0;

double PeriodStart(double time) {
  return std::floor(time / credit::kDefaultScalePeriod) * credit::kDefaultScalePeriod;
}

// "2026-11-21 19:00:00 UTC"
std::string Date(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  char text[40];
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return std::to_string(time) + " s after 1970";
  return text;
}

std::string Days(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f days", seconds / credit::kSecondsPerDay);
  return text;
}

}  // namespace

Ticker::Ticker(TickerOptions options) : options_(std::move(options)) { last_[kAllProjects] = options_.last; }

double Ticker::LastOf(ProjectId project) const {
  const double of_all = last_.at(kAllProjects);
  const auto known = last_.find(project.value);
  if (known != last_.end()) return std::max(of_all, known->second);
  return options_.last_of ? std::max(of_all, options_.last_of(project)) : of_all;
}

void Ticker::Move(ProjectId project, double time) {
  before_.emplace_back(project, LastOf(project));
  last_[project.value] = time;
}

std::map<ProjectId, double> Ticker::Changes() const {
  std::map<ProjectId, double> moved;
  for (const auto& [project, before] : before_) moved[project] = last_.at(project.value);
  return moved;
}

std::map<ProjectId, double> Ticker::Keep() {
  auto moved = Changes();
  before_.clear();
  return moved;
}

void Ticker::Drop() {
  for (; !before_.empty(); before_.pop_back()) last_[before_.back().first.value] = before_.back().second;
}

std::optional<double> Ticker::OnEvent(ProjectId project, std::string_view envelope, double now) {
  if (!project) return std::nullopt;
  const double time = wire::PeekEventTime(envelope).value_or(0);
  if (!(time > 0) || time > now + options_.future_limit) return std::nullopt;
  const double start = PeriodStart(time);
  const double last = LastOf(project);
  if (start <= last || !IsWellFormed(envelope)) return std::nullopt;
  Move(project, start);
  if (last == 0) return std::nullopt;
  return start;
}

void Ticker::OnTick(std::string_view envelope, double now) {
  const auto event = wire::ParseEvent(envelope);
  if (!event.ok() || wire::CheckEvent(*event)) return;
  const auto* tick = std::get_if<wire::Tick>(&event->body);
  if (tick == nullptr || std::max(event->head.time, tick->time) > now + options_.future_limit) return;
  if (tick->time > LastOf(event->head.project)) Move(event->head.project, tick->time);
}

Ticker::Look Ticker::OnClock(double now) {
  const bool accept = options_.accept_jump && !std::exchange(looked_, true);
  const double start = PeriodStart(now);
  const double last = last_.at(kAllProjects);
  const double jump = start - last;
  if (last != 0 && std::abs(jump) > credit::kSecondsPerDay && !(accept && jump > 0)) {
    if (std::exchange(held_, true)) return {};
    std::string warning =
        "event time is stopped: the last tick was at " + Date(last) + ", but this machine's clock is at " +
        Date(now) + ", " + Days(std::abs(jump)) + (jump > 0 ? " later. " : " earlier. ") +
        "While event time is stopped, nothing expires and version scales stay unchanged; "
        "events are ingested, and credit is granted. If the clock is wrong, correct the clock. ";
    warning += jump > 0
                   ? "If the clock is right (the program was stopped for that long), restart the program "
                     "with `cobblestone run --accept-time-jump`"
                   : "If the clock is right, earlier ticks came from a wrong clock: event time continues "
                     "when the clock reaches the last tick";
    return {.tick = std::nullopt, .warning = std::move(warning)};
  }
  Look look;
  if (std::exchange(held_, false))
    look.warning = "event time continues: this machine's clock is at " + Date(now);
  if (start <= last) return look;  // the same period, or a clock that went back by up to a day
  Move({}, start);
  look.tick = start;
  return look;
}

}  // namespace cobblestone::pipeline
