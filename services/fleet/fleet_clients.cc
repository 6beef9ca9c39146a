// Hosts and their clients: the part of Fleet that asks for work, computes, and reports.
#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/check.h"
#include "common/credit/model/flops.h"
#include "services/fleet/fleet.h"

namespace cobblestone::fleet {
namespace {

constexpr double kDayLength = 86400;
constexpr double kFabrication = 0.01;  // of the run time
constexpr double kEndedAtStart = 1;    // s

}  // namespace

// ---- A host comes and goes -----------------------------------------------------------------------------

void Fleet::Join(std::uint32_t number) {
  Slot& slot = slots_[number];
  ++counts_.hosts;
  const bool settled = now_ == 0;
  const std::uint64_t host = MachineOf(number, slot.generation);
  const HostTraits traits = TraitsOf(parameters_, draws_, host, settled);
  // A host that was there before has been available at random since long ago.
  slot.available = Availability(traits, host, settled ? -parameters_.off_limit * 3600 : now_);
  slot.cores = static_cast<std::uint8_t>(traits.cores);
  slot.core_flops = static_cast<float>(traits.core_flops);
  slot.whetstone = static_cast<float>(traits.whetstone);
  slot.gpu_flops = static_cast<float>(traits.gpu_flops);
  slot.gpu = traits.gpu;
  slot.error_rate = static_cast<float>(traits.error_rate);
  slot.anonymous = traits.anonymous || (IsAttacker(number) && options_.attack.anonymous);
  slot.speed_class = static_cast<std::uint8_t>(traits.speed_class);
  slot.projects = static_cast<std::uint8_t>(std::min(traits.projects, options_.projects));
  slot.lanes = std::make_unique<std::uint32_t[]>(traits.cores + 1);
  std::fill_n(slot.lanes.get(), traits.cores + 1, now_);
  slot.joined = now_;
  if (!clients_.empty()) {
    clients_[number] = {};
    clients_[number].decided = now_;
    clients_[number].on_fraction = static_cast<float>(OnFraction(parameters_, traits));
  }
  slot.first_job = kNone;
  slot.jobs = slot.resets = slot.reports = 0;
  slot.in_progress = {};
  slot.lost_jobs = slot.waits = false;
  slot.reported.reset();
  for (std::uint32_t i = 0; i < slot.projects; ++i) {
    slot.attachments[i] = {};
    // Attached to consecutive projects; the first is the host's own choice.
    const double first = draws_.Uniforms(Stream::kContact, host, 0).second;
    slot.attachments[i].project = static_cast<std::uint8_t>(
        (static_cast<std::uint32_t>(first * options_.projects) + i) % options_.projects);
    const std::uint32_t instances = traits.cores + (traits.gpu_flops > 0 ? 1 : 0);
    slot.attachments[i].quota = static_cast<std::uint32_t>(parameters_.daily_quota) * instances;
  }
  if (IsAttacker(number) && options_.attack.benchmark > 0)
    slot.whetstone = static_cast<float>(options_.attack.benchmark);
  EmitMembers(number, traits);
  if (!IsAttacker(number)) {
    Put(What::kLeave, now_ + traits.lifetime, number, 0);
    Put(What::kReset,
        now_ + Exponential(parameters_.reset_interval * kDayLength, draws_.Uniform(Stream::kReset, host, 0)),
        number, slot.generation);
  }
  if (traits.managed) {
    slot.reported = std::make_unique<std::array<std::array<Counters, 2>, kMaxProjects>>();
    Put(What::kReport, now_ + parameters_.report_period * 3600, number, slot.generation);
  }
  // The hosts of the start did not all ask in the same second.
  const double spread = settled ? parameters_.buffer_extra * kDayLength : parameters_.request_interval;
  const double first = now_ + spread * draws_.Uniform(Stream::kContact, host, 0);
  Put(What::kContact, slot.available.NextOn(parameters_, draws_, first), number, ++slot.contacts);
}

void Fleet::Leave(std::uint32_t number) {
  Slot& slot = slots_[number];
  Settle(number);
  for (std::uint32_t at = slot.first_job; at != kNone;) {
    Job& job = jobs_[at];
    const std::uint32_t next = job.next_of_host;
    job.lost = true;
    ++job.generation;
    job.next_of_host = job.previous_of_host = kNone;
    if (job.timed_out) {
      EndJob(at);
    } else {
      Put(What::kDeadline, job.sent + apps_[workunits_[job.workunit].app].delay_bound, at, job.generation);
    }
    at = next;
  }
  for (std::uint32_t i = 0; i < slot.projects; ++i) {
    for (std::uint32_t app = 0; app < apps_.size(); ++app) JudgeHeld(slot.attachments[i], app, false);
    slot.attachments[i].unjudged.clear();
    ForgetStanding(slot.attachments[i]);
  }
  ++slot.generation;
  ++slot.contacts;
  slot.first_of_user = false;
  Put(What::kJoin, now_, number, 0);
}

// ---- Asking for work -----------------------------------------------------------------------------------

bool Fleet::Supplies(const Slot& slot, std::uint32_t attachment, int resource) const {
  if (resource == 1 && slot.gpu_flops <= 0) return false;
  return std::any_of(apps_.begin(), apps_.end(), [&](const App& app) {
    return app.project == slot.attachments[attachment].project &&
           (resource == 0 ? app.model->cpu : app.model->gpu);
  });
}

bool Fleet::AtLimit(const Slot& slot, int resource) const {
  if (IdentityUsedUp(slot)) return true;
  const double limit = resource == 0 ? parameters_.cpu_jobs_limit * slot.cores : parameters_.gpu_jobs_limit;
  return slot.in_progress[static_cast<std::size_t>(resource)] >= limit;
}

void Fleet::Contact(std::uint32_t number) {
  Slot& slot = slots_[number];
  const std::uint64_t host = MachineOf(number, slot.generation);
  if (slot.lost_jobs) {
    for (std::uint32_t i = 0; i < slot.projects; ++i) SendLost(number, i);
    slot.lost_jobs = false;
  }
  if (work_fetch_->remembers()) return Decide(number);
  Shortfall shortfall;
  shortfall.speed[0] = slot.core_flops;
  shortfall.speed[1] = slot.gpu_flops;
  const double low = now_ + parameters_.buffer_min * kDayLength;
  const double full = low + parameters_.buffer_extra * kDayLength;
  const std::uint32_t* lanes = slot.lanes.get();
  if (*std::min_element(lanes, lanes + slot.cores) < low) {
    for (std::uint32_t i = 0; i < slot.cores; ++i)
      shortfall.seconds[0] += std::max(0.0, full - std::max(now_, lanes[i]));
  }
  if (slot.gpu_flops > 0 && lanes[slot.cores] < low)
    shortfall.seconds[1] = full - std::max(now_, lanes[slot.cores]);

  std::array<AttachedProject, kMaxProjects> projects;
  for (std::uint32_t i = 0; i < slot.projects; ++i) {
    const Attachment& attachment = slot.attachments[i];
    projects[i].share = attachment.share;
    for (const std::size_t r : {0, 1}) {
      projects[i].used_seconds[r] = attachment.used[r];
      projects[i].may_ask[r] = attachment.backoff_until[r] <= now_ &&
                               Supplies(slot, i, static_cast<int>(r)) && !AtLimit(slot, static_cast<int>(r));
    }
  }
  const WorkRequest request = work_fetch_->Choose({projects.data(), slot.projects}, shortfall);
  if (request.project != WorkRequest::kNobody) {
    COBBLESTONE_CHECK(request.project < slot.projects, std::to_string(request.project));
    std::array<std::uint32_t, 2> sent{};
    ++counts_.requests;
    Answer(number, request, &sent);
    Attachment& asked = slot.attachments[request.project];
    for (const std::size_t r : {0, 1}) {
      if (request.seconds[r] <= 0) continue;
      if (sent[r] > 0) {
        asked.backoffs[r] = 0;
        continue;
      }
      const double length = std::min(
          parameters_.backoff_max, std::ldexp(parameters_.backoff_min, std::min<int>(asked.backoffs[r], 20)));
      if (asked.backoffs[r] < 255) ++asked.backoffs[r];
      const double factor = 0.5 + draws_.Uniform(Stream::kContact, host, slot.contacts);
      asked.backoff_until[r] = now_ + static_cast<std::uint32_t>(length * factor);
    }
  }
  PlanContact(number);
}

// A decision of a client with a memory.
void Fleet::Decide(std::uint32_t number) {
  Slot& slot = slots_[number];
  ClientState& client = clients_[number];
  queue_.clear();
  for (std::uint32_t at = slot.first_job; at != kNone; at = jobs_[at].next_of_host) {
    const Job& job = jobs_[at];
    const std::uint32_t left = job.ended - std::min(job.ended, std::max(job.start, now_));
    queue_.push_back({.project = job.attachment,
                      .gpu = job.gpu,
                      .threads = static_cast<double>(job.threads),
                      .estimate = job.estimate,
                      .duration = job.run,
                      .remaining = static_cast<double>(job.run) * left / (job.ended - job.start),
                      .used = UseOf(job, client.decided, now_),
                      .end = static_cast<double>(job.ended)});
  }
  std::reverse(queue_.begin(), queue_.end());
  std::array<AttachedProject, kMaxProjects> projects;
  for (std::uint32_t i = 0; i < slot.projects; ++i) projects[i].share = slot.attachments[i].share;
  const HostNow host{.now = static_cast<double>(now_),
                     .projects = {projects.data(), slot.projects},
                     .jobs = queue_,
                     .instances = {static_cast<double>(slot.cores), slot.gpu_flops > 0 ? 1.0 : 0.0},
                     .speed = {slot.core_flops, slot.gpu_flops},
                     .at_limit = {AtLimit(slot, 0), AtLimit(slot, 1)},
                     .buffer_min = parameters_.buffer_min * kDayLength,
                     .buffer_extra = parameters_.buffer_extra * kDayLength};
  slot.waits = host.at_limit[0] || host.at_limit[1];  // Finish plans the next decision
  const auto ask = [&](const WorkRequest& request) {
    std::array<std::uint32_t, 2> sent{};
    ++counts_.requests;
    Answer(number, request, &sent);
    return sent;
  };
  const double next = work_fetch_->Decide(host, ask, &client);
  ++slot.contacts;
  if (next > end_) return;
  Availability ahead = slot.available;
  Put(What::kContact, ahead.NextOn(parameters_, draws_, std::max(next, now_ + parameters_.request_interval)),
      number, slot.contacts);
}

// The next request: when a resource falls below the buffer and a project may be asked for it. A client with a memory decides
// as soon as it may ask.
void Fleet::PlanContact(std::uint32_t number) {
  Slot& slot = slots_[number];
  const std::uint32_t* lanes = slot.lanes.get();
  const double soonest = now_ + parameters_.request_interval;
  double next = Availability::kForever;
  slot.waits = false;
  for (const std::size_t r : {0, 1}) {
    double may = Availability::kForever;
    for (std::uint32_t i = 0; i < slot.projects; ++i) {
      if (Supplies(slot, i, static_cast<int>(r)))
        may = std::min(may, static_cast<double>(slot.attachments[i].backoff_until[r]));
    }
    if (may == Availability::kForever) continue;
    if (!clients_.empty()) {
      next = soonest;
      continue;
    }
    if (AtLimit(slot, static_cast<int>(r))) {
      slot.waits = true;  // Finish plans the request
      continue;
    }
    const double empty = r == 0 ? *std::min_element(lanes, lanes + slot.cores) : lanes[slot.cores];
    next = std::min(next, std::max({soonest, may, empty - parameters_.buffer_min * kDayLength + 1}));
  }
  if (slot.lost_jobs) next = std::min(next, soonest);
  ++slot.contacts;
  if (next > end_) return;
  Availability ahead = slot.available;
  Put(What::kContact, ahead.NextOn(parameters_, draws_, next), number, slot.contacts);
}

// ---- Computing -----------------------------------------------------------------------------------------

// The job runs on the lanes that are free first; `elapsed` seconds of available time.
void Fleet::PlaceOnLanes(std::uint32_t index, double elapsed) {
  Job& job = jobs_[index];
  Slot& slot = slots_[job.slot];
  std::uint32_t* lanes = slot.lanes.get();
  std::array<std::uint32_t, 33> order;
  std::uint32_t used = 1;
  if (job.gpu) {
    order[0] = slot.cores;
  } else if (job.threads == 1) {
    order[0] = static_cast<std::uint32_t>(std::min_element(lanes, lanes + slot.cores) - lanes);
  } else {
    used = job.threads;
    for (std::uint32_t i = 0; i < slot.cores; ++i) order[i] = i;
    std::sort(order.begin(), order.begin() + slot.cores, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(lanes[a], a) < std::pair(lanes[b], b);
    });
  }
  slot.available.NextOn(parameters_, draws_, now_);
  Availability ahead = slot.available;
  const double start = ahead.NextOn(parameters_, draws_, std::max(now_, lanes[order[used - 1]]));
  const std::uint64_t host = MachineOf(job.slot, slot.generation);
  const double ended = ahead.After(parameters_, draws_, start, elapsed);
  // A host that never returns to this job before the end of the simulation.
  constexpr double kFarFuture = 4e9;
  for (std::uint32_t i = 0; i < used; ++i)
    lanes[order[i]] = static_cast<std::uint32_t>(std::min(ended, kFarFuture)) + 1;
  job.run = static_cast<float>(elapsed);
  job.start = static_cast<std::uint32_t>(std::min(start, kFarFuture));
  job.ended = lanes[order[0]];
  const double delay =
      Exponential(parameters_.report_delay, draws_.Uniforms(Stream::kReturn, host, job.ordinal).first);
  const double reported = ahead.NextOn(parameters_, draws_, ended + delay);
  const App& app = apps_[workunits_[job.workunit].app];
  Put(What::kFinish, reported, index, job.generation);
  if (reported > job.sent + app.delay_bound)
    Put(What::kDeadline, job.sent + app.delay_bound, index, job.generation);
  if (app.model->trickles && elapsed > parameters_.trickle_interval * 3600) {
    Availability first = slot.available;
    Put(What::kTrickle, first.After(parameters_, draws_, start, parameters_.trickle_interval * 3600), index,
        job.generation);
  }
}

// The attacker knows the verdicts about its results, and not how often a job in progress was sent.
bool Fleet::Fabricates(const Job& job) const {
  const Attack& attack = options_.attack;
  if (!IsAttacker(job.slot) || !attack.fabricate) return false;
  const Slot& slot = slots_[job.slot];
  const App& app = apps_[workunits_[job.workunit].app];
  if (job.ordinal - slot.identity_start < attack.start) return false;
  if (slot.attachments[job.attachment].verified[app.index] < attack.build) return false;
  return attack.fabricate_share >= 1 ||
         draws_.Uniform(Stream::kFabricate, MachineOf(job.slot, slot.generation), job.ordinal) <
             attack.fabricate_share;
}

// The true run time, s, by `samples` = SamplesOf(job); sets what the job will report.
double Fleet::Run(Job& job, double samples) {
  const Slot& slot = slots_[job.slot];
  const Workunit& workunit = workunits_[job.workunit];
  const std::uint64_t host = MachineOf(job.slot, slot.generation);
  const double noise = draws_.Uniforms(Stream::kJob, host, job.ordinal).first;
  double elapsed = SizeOf(workunit) * samples * LogNormal(0, parameters_.runtime_noise, noise) / SpeedOf(job);
  const auto [fate, part] = draws_.Uniforms(Stream::kFate, host, job.ordinal);
  job.outcome = credit::Outcome::kSuccess;
  job.wrong = job.fabricated = job.unwanted = false;
  if (IsAttacker(job.slot)) {
    const double rank =
        draws_.Uniforms(Stream::kWorkunit, workunit.number, apps_[workunit.app].project).first;
    const JobFate chosen = FateOf(options_.attack, job.ordinal - slot.identity_start, rank);
    if (chosen != JobFate::kComputed) {
      job.unwanted = chosen == JobFate::kUnwanted;
      const Unwanted how = options_.attack.unwanted;
      job.outcome = !job.unwanted || how == Unwanted::kDetached ? credit::Outcome::kClientError
                    : how == Unwanted::kAbortedByProject        ? credit::Outcome::kAbortedByProject
                                                                : credit::Outcome::kAbortedByUser;
      job.elapsed = kEndedAtStart;
      return kEndedAtStart;
    }
  }
  if (Fabricates(job)) {
    job.fabricated = true;
    job.elapsed = static_cast<float>(elapsed);
    return elapsed * kFabrication;
  }
  if (fate < slot.error_rate) {
    job.outcome = credit::Outcome::kClientError;
  } else if (fate < slot.error_rate + parameters_.abort_rate) {
    job.outcome = credit::Outcome::kAbortedByUser;
  } else if (fate < slot.error_rate + parameters_.abort_rate + parameters_.wrong_rate) {
    job.wrong = true;
  }
  if (job.outcome != credit::Outcome::kSuccess) elapsed *= part;
  job.elapsed = static_cast<float>(elapsed);
  return elapsed;
}

void Fleet::Unlink(std::uint32_t at) {
  Job& job = jobs_[at];
  if (job.previous_of_host != kNone) {
    jobs_[job.previous_of_host].next_of_host = job.next_of_host;
  } else {
    slots_[job.slot].first_job = job.next_of_host;
  }
  if (job.next_of_host != kNone) jobs_[job.next_of_host].previous_of_host = job.previous_of_host;
  job.next_of_host = job.previous_of_host = kNone;
  --slots_[job.slot].in_progress[job.gpu ? 1 : 0];
}

void Fleet::CountRun(const Slot& slot, const Job& job) {
  if (!slot.reported) return;
  Counters& counters = (*slot.reported)[job.attachment][job.gpu ? 1 : 0];
  const bool failed = job.outcome != credit::Outcome::kSuccess;
  counters.run_time += job.elapsed;
  counters.credit += credit::CreditOfFlops(static_cast<double>(job.elapsed) * job.peak, credit::Constants{});
  ++counters.jobs;
  if (!failed) return;
  ++counters.failed;
  counters.failed_run_time += job.elapsed;
}

// An invented run time is believable only within the time since the dispatch.
void Fleet::LieAboutTime(Job& job) {
  const Attack& attack = options_.attack;
  const std::uint32_t n = job.ordinal - slots_[job.slot].identity_start;
  const bool estimate = attack.pattern == ClaimPattern::kEstimate;
  const bool lies =
      estimate || (attack.pattern != ClaimPattern::kHonest && attack.channel == ClaimChannel::kTime);
  if (!lies && !attack.fabricate) return;
  double elapsed = job.elapsed;
  if (estimate && n >= attack.start) {
    elapsed = attack.factor * job.estimate;
  } else if (lies) {
    elapsed *= ClaimFactor(attack, n);
  }
  job.elapsed = static_cast<float>(std::min<double>(elapsed, now_ - job.sent));
}

// Attackers 0 and 1, 2 and 3, ... belong together.
void Fleet::Rehome(Job& job) const {
  const auto first = static_cast<std::uint32_t>(options_.hosts);
  const std::uint32_t partner = first + ((job.slot - first) ^ 1u);
  if (partner >= slots_.size()) return;
  Job other = job;
  other.slot = partner;
  if (SamplesOf(other) < SamplesOf(job)) job.reporter = partner;
}

// The client reports the job.
void Fleet::Finish(std::uint32_t at) {
  Job& job = jobs_[at];
  Slot& slot = slots_[job.slot];
  const std::uint32_t number = job.slot;
  const int resource = job.gpu ? 1 : 0;
  const bool was_full = AtLimit(slot, resource);
  const double delay_bound = apps_[workunits_[job.workunit].app].delay_bound;
  const Attack& attack = options_.attack;
  ++job.generation;
  bool returns_late = false;
  const bool withheld = job.unwanted && attack.unwanted == Unwanted::kWithheld;
  if (!job.gone) {
    CountUse(number, job);
    if (!withheld) Unlink(at);
    if (IsAttacker(number)) {
      LieAboutTime(job);
      if (attack.rehome) Rehome(job);
      returns_late = job.outcome == credit::Outcome::kSuccess && attack.late_every > 0 &&
                     (job.ordinal - slot.identity_start) % attack.late_every == attack.late_every - 1;
    }
    CountRun(slot, job);
  }
  // Too late even for a late result: the project has deleted the workunit.
  constexpr double kLateLimit = 4;   // delay bounds
  constexpr double kReturned = 1.5;  // delay bounds after the dispatch
  if (now_ > job.sent + kLateLimit * delay_bound) {
    EndJob(at);
  } else if (withheld) {
    job.lost = true;
    Put(What::kDeadline, job.sent + delay_bound, at, job.generation);
  } else if (returns_late) {
    job.gone = true;
    Put(What::kDeadline, job.sent + delay_bound, at, job.generation);
    Put(What::kFinish, job.sent + kReturned * delay_bound, at, job.generation);
  } else if (job.outcome != credit::Outcome::kSuccess) {
    EmitCompletion(job, job.outcome);
    Failed(at);
  } else {
    EmitCompletion(job, job.outcome);
    Returned(at);
  }
  JobLeft(number, resource, was_full);
}

// A job of the host is not in progress any more.
void Fleet::JobLeft(std::uint32_t number, int resource, bool was_full) {
  const Slot& slot = slots_[number];
  if (IdentityUsedUp(slot) && slot.first_job == kNone) {
    TakeIdentity(number);
    return;
  }
  // Only when the limit falls: otherwise a host that reports often would put off its request for ever.
  if (slot.waits && was_full && !AtLimit(slot, resource)) PlanContact(number);
}

// The same machine appears to the projects as a new host.
void Fleet::TakeIdentity(std::uint32_t number) {
  Slot& slot = slots_[number];
  ++slot.generation;
  ++counts_.hosts;
  slot.identity_start = slot.jobs;
  slot.first_of_user = options_.attack.identity == NewIdentity::kAccount;
  for (std::uint32_t i = 0; i < slot.projects; ++i) {
    slot.attachments[i].trust = {};
    slot.attachments[i].verified = {};
    for (std::uint32_t app = 0; app < apps_.size(); ++app) JudgeHeld(slot.attachments[i], app, false);
    slot.attachments[i].unjudged.clear();
    ForgetStanding(slot.attachments[i]);
    slot.attachments[i].sent_today = 0;
    slot.attachments[i].quota =
        static_cast<std::uint32_t>(parameters_.daily_quota) * (slot.cores + (slot.gpu_flops > 0 ? 1u : 0u));
  }
  EmitMembers(number, TraitsOf(parameters_, draws_, MachineOf(number, 0), true));
  if (slot.reported) {
    *slot.reported = {};
    Put(What::kReport, now_ + parameters_.report_period * 3600, number, slot.generation);
  }
  PlanContact(number);
}

// The client loses all its jobs, as after a new installation.
void Fleet::Reset(std::uint32_t number) {
  Slot& slot = slots_[number];
  const std::uint64_t host = MachineOf(number, slot.generation);
  Put(What::kReset,
      now_ + Exponential(parameters_.reset_interval * kDayLength,
                         draws_.Uniform(Stream::kReset, host, ++slot.resets)),
      number, slot.generation);
  for (std::uint32_t at = slot.first_job; at != kNone; at = jobs_[at].next_of_host) {
    Job& job = jobs_[at];
    CountUse(number, job);
    job.lost = true;
    ++job.generation;
    if (!job.timed_out)
      Put(What::kDeadline, job.sent + apps_[workunits_[job.workunit].app].delay_bound, at, job.generation);
    slot.lost_jobs = true;
  }
  std::fill_n(slot.lanes.get(), slot.cores + 1u, now_);
  PlanContact(number);
}

}  // namespace cobblestone::fleet
