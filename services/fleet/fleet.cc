#include "services/fleet/fleet.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "common/base/check.h"
#include "common/credit/policies/policy.h"

namespace cobblestone::fleet {
namespace {

constexpr std::uint32_t kWhatBits = 4;
constexpr double kSecondsPerDay = 86400;

Status BadOption(const std::string& name, const std::string& value, const std::string& allowed) {
  return Status::InvalidArgument(name + " is " + value + "; it must be " + allowed);
}

}  // namespace

Status CheckFleetOptions(const FleetOptions& options) {
  constexpr std::uint64_t kMaxHosts = 10'000'000;
  if (options.hosts == 0 || options.hosts > kMaxHosts)
    return BadOption("hosts", std::to_string(options.hosts), "from 1 to 10^7");
  if (options.attackers > kMaxHosts)
    return BadOption("attackers", std::to_string(options.attackers), "at most 10^7");
  if (!(options.days >= 0.01 && options.days <= 3650))
    return BadOption("days", std::to_string(options.days), "from 0.01 to 3650");
  if (options.projects == 0 || options.projects > kPresets)
    return BadOption("projects", std::to_string(options.projects), "from 1 to 3");
  if (!credit::PolicyKindByName(options.policy)) {
    return BadOption(
        "policy", "'" + options.policy + "'",
        "one of benchmark, reported-flops, creditnew-v2, creditnew, robust, boinc, runtime, assigned, none");
  }
  if (!(options.start_time >= 1e8 && options.start_time <= 1e11) ||
      options.start_time != std::floor(options.start_time))
    return BadOption("start_time", std::to_string(options.start_time), "whole UNIX seconds from 1e8 to 1e11");
  const Parameters& p = options.parameters;
  if (p.always_on + p.random_on > 1)
    return BadOption("always_on + random_on", std::to_string(p.always_on + p.random_on), "at most 1");
  if (p.cores_1 + p.cores_2 + p.cores_4 + p.cores_8 + p.cores_16 + p.cores_32 <= 0)
    return BadOption("the sum of cores_1 to cores_32", "0", "more than 0");
  if (options.apps.size() > 3)
    return BadOption("the number of apps", std::to_string(options.apps.size()), "at most 3");
  if (p.quorum > p.max_total) return BadOption("quorum", std::to_string(p.quorum), "at most max_total");
  return Status::Ok();
}

Fleet::Fleet(const FleetOptions& options, std::function<void(const Truth&)> truth)
    : options_(options),
      parameters_(options.parameters),
      draws_(options.seed),
      work_fetch_(options.work_fetch != nullptr ? options.work_fetch : &share_proportional_),
      truth_(std::move(truth)) {
  const Status good = CheckFleetOptions(options);
  COBBLESTONE_CHECK(good.ok(), good.message());
  end_ = static_cast<std::uint32_t>(options_.days * kSecondsPerDay);
  slots_.resize(options_.hosts + options_.attackers);
  if (work_fetch_->remembers()) clients_.resize(slots_.size());
  MakeUsers();
  for (std::uint32_t project = 0; project < options_.projects; ++project) {
    const auto preset = static_cast<Preset>((static_cast<std::uint32_t>(options_.like) + project) % kPresets);
    const std::span<const AppModel> models = options_.apps.empty() ? AppsOf(preset) : options_.apps;
    for (const AppModel& model : models) {
      App app;
      app.model = &model;
      app.project = static_cast<std::uint8_t>(project);
      app.index = static_cast<std::uint8_t>(&model - models.data());
      app.id = app.index + 1u;
      app.delay_bound = model.delay_bound * parameters_.deadline_factor;
      apps_.push_back(std::move(app));
    }
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
    Put(What::kJoin, IsAttacker(slot) ? options_.attackers_join * kSecondsPerDay : 0, slot, 0);
}

Fleet::~Fleet() = default;

// User u has 1 + a geometric number of hosts, which lie side by side.
void Fleet::MakeUsers() {
  const double more = 1 - 1 / parameters_.hosts_per_user;
  for (std::uint32_t slot = 0; slot < options_.hosts;) {
    const std::uint64_t user = ++users_;
    std::uint64_t hosts = 1;
    if (more > 0)
      hosts += static_cast<std::uint64_t>(
          std::min(1e6, std::floor(Log(draws_.Uniform(Stream::kUser, user, 0)) / Log(more))));
    slots_[slot].first_of_user = true;
    for (; hosts > 0 && slot < options_.hosts; --hosts)
      slots_[slot++].user = static_cast<std::uint32_t>(user);
  }
  for (std::uint64_t slot = options_.hosts; slot < slots_.size(); ++slot) {
    auto user = static_cast<std::uint32_t>(slot - options_.hosts);
    if (options_.attack.one_account) user = 0;
    if (options_.attack.rehome) user -= user % 2;  // two hosts of one account
    slots_[slot].first_of_user = options_.hosts + user == slot;
    slots_[slot].user_is_attacker = true;
    slots_[slot].user = user;
  }
  teams_ = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(users_) / parameters_.users_per_team));
}

std::uint64_t Fleet::HostOf(std::uint32_t slot, std::uint32_t generation) const {
  if (IsAttacker(slot)) return kFirstAttacker + (slot - options_.hosts) + generation * options_.attackers;
  return 1 + slot + generation * options_.hosts;
}

std::uint64_t Fleet::UserOf(std::uint32_t slot, std::uint32_t generation) const {
  if (!IsAttacker(slot)) return slots_[slot].user;
  const bool accounts = options_.attack.identity == NewIdentity::kAccount;
  return kFirstAttacker + slots_[slot].user + (accounts ? generation * options_.attackers : 0);
}

void Fleet::Put(What what, double at, std::uint32_t subject, std::uint32_t generation) {
  // Not representable or never reached.
  if (!(at <= end_)) return;
  timeline_.Put({.at = std::max(now_, static_cast<std::uint32_t>(std::ceil(at))),
                 .tag = static_cast<std::uint32_t>(what) | generation << kWhatBits,
                 .subject = subject});
}

bool Fleet::Next(std::string_view* envelope) {
  if (!started_) {
    started_ = true;
    EmitCatalogue();
    EmitTeams();
  }
  while (next_event_ == ends_.size()) {
    bytes_.clear();
    ends_.clear();
    next_event_ = 0;
    Appointment appointment;
    if (!timeline_.Next(&appointment)) {
      now_ = end_;
      for (std::uint32_t slot = 0; slot < slots_.size() && !settled_; ++slot) Settle(slot);
      settled_ = true;
      return false;
    }
    now_ = appointment.at;
    Step(appointment);
  }
  const std::size_t begin = next_event_ == 0 ? 0 : ends_[next_event_ - 1];
  *envelope = std::string_view(bytes_).substr(begin, ends_[next_event_] - begin);
  ++next_event_;
  return true;
}

void Fleet::Step(const Appointment& appointment) {
  const auto what = static_cast<What>(appointment.tag & ((1u << kWhatBits) - 1));
  const std::uint32_t generation = appointment.tag >> kWhatBits;
  const std::uint32_t subject = appointment.subject;
  switch (what) {
    case What::kRelease: return Release(subject);
    case What::kJoin: return Join(subject);
    case What::kFinish:
      if (jobs_[subject].generation == generation) Finish(subject);
      return;
    case What::kTrickle:
      if (jobs_[subject].generation == generation) EmitTrickle(subject);
      return;
    case What::kDeadline:
      if (jobs_[subject].generation == generation) Deadline(subject);
      return;
    case What::kValidate:
      if (workunits_[subject].generation == generation) Validate(subject);
      return;
    case What::kLate:
      if (jobs_[subject].generation == generation) Late(subject);
      return;
    case What::kReset:
      if (slots_[subject].generation == generation) Reset(subject);
      return;
    case What::kReport:
      if (slots_[subject].generation == generation) EmitReport(subject);
      return;
    case What::kContact:
      if (slots_[subject].contacts == generation) Contact(subject);
      return;
    case What::kLeave: return Leave(subject);
  }
}

std::size_t Fleet::bytes() const {
  std::size_t bytes =
      timeline_.bytes() + slots_.capacity() * sizeof(Slot) + clients_.capacity() * sizeof(ClientState) +
      jobs_.size() * sizeof(Job) + workunits_.size() * sizeof(Workunit) + bytes_.capacity() +
      (free_jobs_.capacity() + free_workunits_.capacity() + ends_.capacity()) * sizeof(std::uint32_t) +
      users_before_.size() * 4 * sizeof(std::uint64_t);  // key, value, link, bucket
  for (const Slot& slot : slots_) {
    bytes += (slot.cores + 1u) * sizeof(std::uint32_t);
    if (slot.reported) bytes += sizeof *slot.reported;
  }
  for (const App& app : apps_) {
    for (const auto* queues : {&app.unsent, &app.reserved}) {
      for (const auto& queue : *queues) bytes += queue.size() * sizeof(std::uint32_t);
    }
  }
  return bytes;
}

}  // namespace cobblestone::fleet
