// The projects' schedulers, transitioners and validators: the part of Fleet that sends and judges results.
#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/credit/model/flops.h"
#include "common/credit/policies/robust.h"
#include "services/fleet/fleet.h"

namespace cobblestone::fleet {
namespace {

constexpr double kSecondsOfDay = 86400;
constexpr std::uint32_t kMaxQuota = 1'000'000;
// A workunit that is older, in delay bounds, gets no further result.
constexpr double kOldest = 5;
constexpr double kSizeFactors[] = {0.5, 1, 2};

}  // namespace

// ---- What a job is -------------------------------------------------------------------------------------

double Fleet::EstimateOf(const Workunit& workunit) const {
  const AppModel& app = *apps_[workunit.app].model;
  if (app.size_classes == 1) return app.fpops_est;
  return app.fpops_est * kSizeFactors[workunit.size];
}

// True FLOPs.
double Fleet::SizeOf(const Workunit& workunit) const {
  const App& app = apps_[workunit.app];
  const double u = draws_.Uniforms(Stream::kWorkunit, workunit.number, app.project).first;
  double estimate = EstimateOf(workunit);
  if (app.model->long_on_cpu) estimate *= kSizeFactors[workunit.size];
  if (app.model->double_at > 0 && workunit.created >= app.model->double_at) estimate *= 2;
  switch (app.model->size) {
    case SizeModel::kAccurate: return estimate * LogNormal(0, 0.1, u);
    case SizeModel::kNoisy: return estimate * LogNormal(0, 0.6, u);
    case SizeModel::kBimodal: return estimate * (u < 0.5 ? 0.05 : 1.95);
    case SizeModel::kMeasured: {
      const auto& sizes = app.model->sizes;
      return estimate * sizes[static_cast<std::size_t>(u * static_cast<double>(sizes.size()))];
    }
  }
  return estimate;
}

// True FLOP/s of the job's devices.
double Fleet::SpeedOf(const Job& job) const {
  const Slot& slot = slots_[job.slot];
  if (job.gpu) return slot.gpu_flops;
  return job.threads == 1 ? slot.core_flops : slot.core_flops * job.threads * parameters_.mt_efficiency;
}

// Peak FLOPs that the host's version needs per FLOP of the job.
double Fleet::SamplesOf(const Job& job) const {
  const App& app = apps_[workunits_[job.workunit].app];
  const Version& version = app.versions[job.version];
  // Version ids are unique within a project. Variants are the first version's program.
  const std::uint64_t program = version.variant > 0 ? app.versions[0].id : version.id;
  const auto counter = static_cast<std::uint32_t>(program * kMaxProjects + app.project);
  const double u =
      draws_.Uniform(Stream::kVersion, MachineOf(job.slot, slots_[job.slot].generation), counter);
  if (job.gpu) return parameters_.gpu_samples * LogNormal(0, parameters_.gpu_samples_sigma, u);
  return parameters_.cpu_samples * (version.second ? parameters_.release_factor : 1) *
         LogNormal(0, parameters_.cpu_samples_sigma, u);
}

Fleet::Attachment* Fleet::AttachmentOf(const Job& job) {
  Slot& slot = slots_[job.slot];
  return slot.generation == job.host_generation ? &slot.attachments[job.attachment] : nullptr;
}

// A new CPU version, and with the first one the GPU versions.
void Fleet::Release(std::uint32_t index) {
  App& app = apps_[index];
  constexpr std::uint32_t kFirstVariant = 5000;  // 250 releases at most
  const auto add = [&](credit::Resource resource, bool second, std::uint32_t variant = 0) {
    Version version;
    const std::uint32_t number = variant > 0 ? kFirstVariant + variant : app.releases;
    version.id = app.id * 100000 + number * 10 + static_cast<std::uint64_t>(resource);
    version.resource = resource;
    version.second = second;
    version.variant = variant;
    if (variant == 0)
      app.newest[static_cast<std::size_t>(resource)] = static_cast<std::uint8_t>(app.versions.size());
    app.versions.push_back(version);
    EmitVersion(app, version);
  };
  // Job::version has 8 bits.
  if (app.versions.size() > 250) return;
  if (app.model->cpu) add(credit::Resource::kCpu, app.releases % 2 == 1);
  if (app.model->cpu && app.releases == 0) {
    for (std::uint32_t variant = 1; variant <= app.model->variants; ++variant)
      add(credit::Resource::kCpu, false, variant);
  }
  if (app.model->gpu && app.releases == 0) {
    for (const auto resource :
         {credit::Resource::kNvidia, credit::Resource::kAmd, credit::Resource::kIntelGpu})
      add(resource, false);
  }
  ++app.releases;
  if (app.model->cpu) Put(What::kRelease, now_ + parameters_.release_interval * kSecondsOfDay, index, 0);
}

// ---- The scheduler -------------------------------------------------------------------------------------

std::uint32_t Fleet::ChooseApp(std::uint32_t project, int resource, double draw) const {
  const auto supplies = [&](const App& app) {
    return app.project == project && (resource == 0 ? app.model->cpu : app.model->gpu);
  };
  double all = 0;
  for (const App& app : apps_) {
    if (supplies(app)) all += app.model->weight;
  }
  std::uint32_t chosen = kNone;
  for (std::uint32_t i = 0; i < apps_.size(); ++i) {
    if (!supplies(apps_[i])) continue;
    chosen = i;
    draw -= apps_[i].model->weight / all;
    if (draw < 0) break;
  }
  return chosen;
}

// Whether one result decides a new workunit whose first result goes to this host.
bool Fleet::IsSingle(const Workunit& workunit, std::uint32_t number, const Attachment& attachment) const {
  const App& app = apps_[workunit.app];
  if (parameters_.quorum < 2) return true;
  switch (app.model->replication) {
    case Replication::kSingle: return true;
    case Replication::kQuorum: return false;
    case Replication::kAdaptive: {
      const std::uint32_t trust = attachment.trust[app.index];
      return trust >= parameters_.trusted_after &&
             draws_.Uniforms(Stream::kWorkunit, workunit.number, app.project).second > 1.0 / trust;
    }
    case Replication::kAdvised: {
      const Slot& slot = slots_[number];
      const double u = draws_.Uniform(Stream::kReplicate, MachineOf(number, slot.generation), slot.jobs);
      return u >= credit::ReplicationProbability(Vouching(app, number, attachment));
    }
  }
  return false;
}

// The results that vouch for a host.
double Fleet::Vouching(const App& app, std::uint32_t number, const Attachment& attachment) const {
  const double verified = attachment.verified[app.index];
  if (!options_.vouching) return verified;
  return std::min(verified, options_.vouching(HostOf(number, slots_[number].generation), app.id));
}

void Fleet::NoteStanding(App& app, std::uint32_t number, Attachment& attachment) {
  std::uint8_t& standing = attachment.standing[app.index];
  if (standing > 0) --app.standings[standing];
  standing = static_cast<std::uint8_t>(
      credit::StandingOf(Vouching(app, number, attachment), attachment.trust[app.index]));
  if (standing > 0) ++app.standings[standing];
}

// The host leaves, or appears as another one.
void Fleet::ForgetStanding(Attachment& attachment) {
  for (App& app : apps_) {
    if (app.project != attachment.project) continue;
    std::uint8_t& standing = attachment.standing[app.index];
    if (standing > 0) --app.standings[standing];
    standing = 0;
  }
}

// Whether the next result decides the workunit, and a host of this standing may not return it, because no result is from
// one of the standing needed.
bool Fleet::IsReserved(const App& app, const Workunit& workunit, std::uint32_t standing) const {
  const std::uint32_t needed = credit::StandingNeeded(app.standings);
  if (standing >= needed) return false;
  double results = 1;
  for (std::uint32_t job = workunit.first_job; job != kNone; job = jobs_[job].next_of_workunit) {
    if (jobs_[job].timed_out) continue;
    if (jobs_[job].standing >= needed) return false;
    ++results;
  }
  return results >= parameters_.quorum;
}

// Whether the user has been sent a result of the workunit, whatever became of it.
bool Fleet::HasHad(std::uint64_t user, std::uint32_t workunit) const {
  for (std::uint32_t at = workunits_[workunit].first_job; at != kNone; at = jobs_[at].next_of_workunit) {
    if (UserOf(jobs_[at].slot, jobs_[at].host_generation) == user) return true;
  }
  const auto [begin, end] = users_before_.equal_range(workunit);
  return std::any_of(begin, end, [&](const auto& before) { return before.second == user; });
}

// Removes and returns a workunit that lacks a result and that the user of the host has not had. kNone: there is none.
std::uint32_t Fleet::TakeLacking(std::deque<std::uint32_t>& queue, std::uint32_t slot_number,
                                 const Attachment& attachment) {
  constexpr std::size_t kLookAt = 8;
  const std::uint64_t user = UserOf(slot_number, slots_[slot_number].generation);
  for (std::size_t i = 0, looked = 0; i < queue.size() && looked < kLookAt;) {
    const std::uint32_t at = queue[i];
    Workunit& workunit = workunits_[at];
    App& app = apps_[workunit.app];
    const bool needed = !workunit.decided && !workunit.failed;
    if (needed && HasHad(user, at)) {
      ++i;
      ++looked;
      continue;
    }
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
    if (needed && app.model->replication == Replication::kAdvised &&
        IsReserved(app, workunit, attachment.standing[app.index])) {
      app.reserved[workunit.size].push_back(at);
      continue;
    }
    --workunit.unsent;
    if (needed) return at;
    if (workunit.unsent == 0 && workunit.first_job == kNone) FreeWorkunit(at);
  }
  return kNone;
}

// A workunit of the host's size that lacks a result, or a new one.
std::uint32_t Fleet::ChooseWorkunit(std::uint32_t index, const Slot& slot, std::uint32_t slot_number,
                                    Attachment& attachment, int resource) {
  App& app = apps_[index];
  const auto size = static_cast<std::uint8_t>(app.model->long_on_cpu         ? (resource == 0 ? 2 : 0)
                                              : app.model->size_classes == 1 ? 1
                                                                             : slot.speed_class);
  std::uint32_t lacking = kNone;
  if (app.model->replication == Replication::kAdvised) {
    NoteStanding(app, slot_number, attachment);
    if (attachment.standing[app.index] >= credit::StandingNeeded(app.standings))
      lacking = TakeLacking(app.reserved[size], slot_number, attachment);
  }
  if (lacking == kNone) lacking = TakeLacking(app.unsent[size], slot_number, attachment);
  if (lacking != kNone) return lacking;
  std::uint32_t at = 0;
  if (free_workunits_.empty()) {
    at = static_cast<std::uint32_t>(workunits_.size());
    workunits_.emplace_back();
  } else {
    at = free_workunits_.back();
    free_workunits_.pop_back();
  }
  Workunit& workunit = workunits_[at];
  workunit = {.number = ++workunits_made_[app.project],
              .created = now_,
              .generation = workunit.generation,
              .app = static_cast<std::uint8_t>(index),
              .size = size};
  workunit.single = IsSingle(workunit, slot_number, attachment);
  if (!workunit.single) {
    for (int i = 1; i < static_cast<int>(parameters_.quorum); ++i) LackResult(at);
  }
  return at;
}

// Sends jobs until the request is filled; GPU first, as BOINC's scheduler.
std::uint32_t Fleet::Answer(std::uint32_t number, const WorkRequest& request,
                            std::array<std::uint32_t, 2>* sent) {
  Slot& slot = slots_[number];
  Attachment& attachment = slot.attachments[request.project];
  const std::uint32_t day = now_ / static_cast<std::uint32_t>(kSecondsOfDay);
  if (attachment.day != day) {
    attachment.day = day;
    attachment.sent_today = 0;
  }
  for (const int resource : {1, 0}) {
    const auto r = static_cast<std::size_t>(resource);
    double seconds = request.seconds[r];
    double instances = request.instances[r];
    while ((seconds > 0 || instances > 0) && attachment.sent_today < attachment.quota &&
           !AtLimit(slot, resource)) {
      const double draw = draws_.Uniforms(Stream::kJob, MachineOf(number, slot.generation), slot.jobs).second;
      const std::uint32_t app = ChooseApp(attachment.project, resource, draw);
      if (app == kNone) break;
      const std::uint32_t workunit = ChooseWorkunit(app, slot, number, attachment, resource);
      const double used = Dispatch(workunit, number, request.project, resource);
      attachment.used[r] += static_cast<float>(used);
      seconds -= used;
      instances -= jobs_[slot.first_job].threads;
      ++attachment.sent_today;
      ++(*sent)[r];
    }
  }
  return (*sent)[0] + (*sent)[1];
}

double Fleet::Dispatch(std::uint32_t workunit_at, std::uint32_t number, std::uint32_t attachment,
                       int resource) {
  Slot& slot = slots_[number];
  std::uint32_t at = 0;
  if (free_jobs_.empty()) {
    at = static_cast<std::uint32_t>(jobs_.size());
    jobs_.emplace_back();
  } else {
    at = free_jobs_.back();
    free_jobs_.pop_back();
  }
  Workunit& workunit = workunits_[workunit_at];
  const App& app = apps_[workunit.app];
  Job& job = jobs_[at];
  const std::uint16_t generation = job.generation;
  job = Job{};
  job.generation = generation;
  job.workunit = workunit_at;
  job.slot = job.reporter = number;
  job.host_generation = slot.generation;
  job.ordinal = slot.jobs++;
  job.sent = now_;
  job.place = workunit.places++;
  job.attachment = static_cast<std::uint8_t>(attachment);
  job.gpu = resource == 1;
  job.version = app.newest[static_cast<std::size_t>(job.gpu ? slot.gpu : credit::Resource::kCpu)];
  if (app.model->share_variants && !job.gpu)
    job.version = static_cast<std::uint8_t>(number % (app.model->variants + 1));
  if (IsAttacker(number) && options_.attack.version_every > 0 && !job.gpu)
    job.version = static_cast<std::uint8_t>((job.ordinal - slot.identity_start) /
                                            options_.attack.version_every % (app.model->variants + 1));
  job.threads =
      static_cast<std::uint8_t>(job.gpu ? 1 : std::min<std::uint32_t>(app.model->threads, slot.cores));
  job.anonymous = slot.anonymous;
  job.standing = slot.attachments[attachment].standing[app.index];
  job.peak = job.gpu ? slot.gpu_flops : slot.whetstone * static_cast<float>(job.threads);
  if (IsAttacker(number) && options_.attack.channel == ClaimChannel::kBenchmark)
    job.peak *= static_cast<float>(ClaimFactor(options_.attack, job.ordinal - slot.identity_start));
  ++workunit.in_progress;
  job.next_of_workunit = workunit.first_job;
  workunit.first_job = at;
  job.next_of_host = slot.first_job;
  if (slot.first_job != kNone) jobs_[slot.first_job].previous_of_host = at;
  slot.first_job = at;
  ++slot.in_progress[job.gpu ? 1 : 0];
  ++counts_.dispatches;
  EmitDispatch(job);
  const double samples = SamplesOf(job);
  PlaceOnLanes(at, Run(job, samples));
  const double estimate = EstimateOf(workunit) * samples / SpeedOf(job);
  job.estimate = static_cast<float>(estimate);
  return estimate * job.threads;
}

// A client that has reset does not list its jobs any more.
void Fleet::SendLost(std::uint32_t number, std::uint32_t attachment) {
  Slot& slot = slots_[number];
  for (std::uint32_t at = slot.first_job; at != kNone;) {
    Job& job = jobs_[at];
    const std::uint32_t next = job.next_of_host;
    if (job.lost && job.attachment == attachment) {
      const Workunit& workunit = workunits_[job.workunit];
      ++job.generation;
      job.lost = false;
      if (parameters_.resend_lost > 0 && !job.timed_out && !workunit.decided && !workunit.failed) {
        job.sent = now_;
        job.ordinal = slot.jobs++;
        job.trickles = 0;
        ++counts_.resends;
        EmitDispatch(job);
        PlaceOnLanes(at, Run(job, SamplesOf(job)));
      } else {
        Unlink(at);
        job.elapsed = 0;
        EmitCompletion(job, credit::Outcome::kClientError);
        Failed(at);
      }
    }
    at = next;
  }
}

// ---- The transitioner ----------------------------------------------------------------------------------

void Fleet::LackResult(std::uint32_t at) {
  Workunit& workunit = workunits_[at];
  App& app = apps_[workunit.app];
  const bool old = now_ - workunit.created > kOldest * app.delay_bound;
  // Every entry in the queue will be a result.
  const bool many =
      workunit.errors > parameters_.max_errors || workunit.places + workunit.unsent >= parameters_.max_total;
  if (old || many) {
    GiveUp(at);
    return;
  }
  ++workunit.unsent;
  app.unsent[workunit.size].push_back(at);
}

// The job will not come back in time.
void Fleet::Deadline(std::uint32_t at) {
  Job& job = jobs_[at];
  if (job.returned || job.timed_out) return;
  // Jobs of workunits that are over need no time-out.
  job.timed_out = true;
  ++counts_.timeouts;
  EmitCompletion(job, credit::Outcome::kTimeout);
  CountFailure(at);
  const std::uint32_t workunit_at = job.workunit;
  Workunit& workunit = workunits_[workunit_at];
  --workunit.in_progress;
  const bool open = !workunit.decided && !workunit.failed;
  const std::uint32_t number = job.slot;
  const int resource = job.gpu ? 1 : 0;
  const bool leaves = job.lost && AttachmentOf(job) != nullptr;
  const bool was_full = AtLimit(slots_[number], resource);
  if (leaves) Unlink(at);
  if (job.lost) EndJob(at);
  if (open) LackResult(workunit_at);
  if (leaves) JobLeft(number, resource, was_full);
}

// Back with an error. The job ends.
void Fleet::Failed(std::uint32_t at) {
  ++counts_.failures;
  CountFailure(at);
  Job& job = jobs_[at];
  const std::uint32_t workunit_at = job.workunit;
  Workunit& workunit = workunits_[workunit_at];
  ++workunit.errors;
  if (!job.timed_out) --workunit.in_progress;
  // After a time-out another result has been requested already.
  const bool lacks = !workunit.decided && !workunit.failed && !job.timed_out;
  EndJob(at);
  if (lacks) LackResult(workunit_at);
}

void Fleet::CountFailure(std::uint32_t at) {
  const Job& job = jobs_[at];
  Attachment* attachment = AttachmentOf(job);
  if (attachment == nullptr) return;
  attachment->quota = std::max(1u, attachment->quota - 1);
  attachment->trust[apps_[workunits_[job.workunit].app].index] = 0;
}

// Back with success.
void Fleet::Returned(std::uint32_t at) {
  Job& job = jobs_[at];
  job.returned = true;
  job.returned_at = now_;
  ++counts_.results;
  const std::uint32_t workunit_at = job.workunit;
  Workunit& workunit = workunits_[workunit_at];
  if (!job.timed_out) --workunit.in_progress;
  if (truth_) {
    const bool deserves = !job.fabricated && !job.wrong;
    const double credit =
        credit::CreditOfFlops(SizeOf(workunit) * parameters_.cpu_samples, credit::Constants{});
    truth_({.project = apps_[workunit.app].project + 1u,
            .result = ResultOf(job),
            .host = HostOf(job.slot, job.host_generation),
            .user = UserOf(job.slot, job.host_generation),
            .deserved_micro = deserves ? std::llrint(credit * 1e6) : 0,
            .fabricated = job.fabricated,
            .wrong = job.wrong});
  }
  if (workunit.decided || workunit.failed) {
    const double u = draws_.Uniform(Stream::kPass, workunit.number,
                                    apps_[workunit.app].project * 64u + 32u + job.place % 32u);
    Put(What::kLate, now_ + Exponential(parameters_.validation_delay, u), at, job.generation);
    return;
  }
  if (Attachment* attachment = AttachmentOf(job); attachment != nullptr && !workunit.single)
    attachment->unjudged.push_back(at);
  LookSoon(workunit_at);
}

// ---- The validator -------------------------------------------------------------------------------------

void Fleet::LookSoon(std::uint32_t at) {
  Workunit& workunit = workunits_[at];
  std::uint32_t returned = 0;
  for (std::uint32_t job = workunit.first_job; job != kNone; job = jobs_[job].next_of_workunit)
    returned += jobs_[job].returned ? 1 : 0;
  if (workunit.looking || returned < (workunit.single ? 1 : parameters_.quorum)) return;
  workunit.looking = true;
  const double u =
      draws_.Uniform(Stream::kPass, workunit.number, apps_[workunit.app].project * 64u + workunit.pass % 32u);
  Put(What::kValidate, now_ + Exponential(parameters_.validation_delay, u), at, workunit.generation);
}

void Fleet::Validate(std::uint32_t at) {
  Workunit& workunit = workunits_[at];
  App& app = apps_[workunit.app];
  workunit.looking = false;
  if (workunit.failed || workunit.decided) return;
  ++workunit.pass;
  const auto agrees = [](const Job& job) { return !job.wrong && !job.fabricated; };
  std::uint32_t returned = 0;
  std::uint32_t good = 0;
  std::uint32_t first = kNone;
  for (std::uint32_t job = workunit.first_job; job != kNone; job = jobs_[job].next_of_workunit) {
    if (!jobs_[job].returned) continue;
    ++returned;
    // Nothing shows that the output of a single result is wrong.
    if (!workunit.single && !agrees(jobs_[job])) continue;
    ++good;
    if (first == kNone || jobs_[job].place < jobs_[first].place) first = job;
  }
  if (good < (workunit.single ? 1 : parameters_.quorum)) {
    for (std::uint32_t job = workunit.first_job; job != kNone; job = jobs_[job].next_of_workunit) {
      if (!jobs_[job].returned) continue;
      ++counts_.inconclusive;
      EmitValidation(jobs_[job], credit::ValidateState::kInconclusive, 0, false);
    }
    if (workunit.in_progress == 0 && workunit.unsent == 0) LackResult(at);
    return;
  }
  if (workunit.single && Hold(at)) return;
  workunit.decided = true;
  workunit.canonical = jobs_[first].place;
  // Policy `runtime` uses the invalid results too.
  const std::uint32_t claims = options_.policy == "runtime" ? returned : good;
  for (std::uint32_t job_at = workunit.first_job; job_at != kNone;) {
    Job& job = jobs_[job_at];
    const std::uint32_t next = job.next_of_workunit;
    if (job.returned) {
      const bool valid = workunit.single || agrees(job);
      ++(valid ? counts_.valid : counts_.invalid);
      EmitValidation(job, valid ? credit::ValidateState::kValid : credit::ValidateState::kInvalid, claims,
                     false);
      if (Attachment* attachment = AttachmentOf(job)) {
        std::uint32_t& trust = attachment->trust[app.index];
        trust = !valid ? 0 : workunit.single ? trust : trust + 1;
        std::uint32_t& verified = attachment->verified[app.index];
        verified = !valid ? 0 : workunit.single ? verified : verified + 1;
        if (valid) {
          const auto most = static_cast<std::uint32_t>(parameters_.daily_quota) *
                            (slots_[job.slot].cores + (slots_[job.slot].gpu_flops > 0 ? 1u : 0u));
          attachment->quota = std::min({most, attachment->quota * 2, kMaxQuota});
        }
      }
      Judged(job_at, valid);
      EndJob(job_at);
    }
    job_at = next;
  }
}

// Whether the workunit with a single result is not to be decided yet.
bool Fleet::Hold(std::uint32_t at) {
  const Workunit& workunit = workunits_[at];
  if (parameters_.hold_single == 0 || apps_[workunit.app].model->replication != Replication::kAdvised)
    return false;
  const Job& job = jobs_[workunit.first_job];
  Attachment* attachment = AttachmentOf(job);
  if (attachment == nullptr) {  // its host has left, and perhaps without having been judged
    Replicate(at);
    return true;
  }
  if (!Waits(*attachment, job)) return false;
  attachment->held.push_back(at);
  return true;
}

// The host has returned a result before this one that others will check.
bool Fleet::Waits(const Attachment& attachment, const Job& single) const {
  return std::any_of(attachment.unjudged.begin(), attachment.unjudged.end(), [&](std::uint32_t check) {
    return workunits_[jobs_[check].workunit].app == workunits_[single.workunit].app &&
           jobs_[check].returned_at <= single.returned_at;
  });
}

// The returned job is about to end.
void Fleet::Judged(std::uint32_t at, bool valid) {
  const Job& job = jobs_[at];
  Attachment* attachment = AttachmentOf(job);
  if (attachment == nullptr || std::erase(attachment->unjudged, at) == 0) return;
  JudgeHeld(*attachment, workunits_[job.workunit].app, valid);
}

// One of the host's results in this app is judged, and no longer in `unjudged`. If it was valid, the single results that
// wait for nothing else are valid, too; otherwise every one that waits gets a second result.
void Fleet::JudgeHeld(Attachment& attachment, std::uint32_t app, bool valid) {
  std::vector<std::uint32_t> waiting;
  std::swap(waiting, attachment.held);
  for (const std::uint32_t at : waiting) {
    Workunit& workunit = workunits_[at];
    if (workunit.app != app || (valid && Waits(attachment, jobs_[workunit.first_job]))) {
      attachment.held.push_back(at);
    } else if (valid) {
      workunit.looking = true;
      Put(What::kValidate, now_, at, workunit.generation);
    } else {
      Replicate(at);
    }
  }
}

// The workunit with a single, returned result gets a second one.
void Fleet::Replicate(std::uint32_t at) {
  const std::uint32_t job = workunits_[at].first_job;
  workunits_[at].single = false;
  if (Attachment* attachment = AttachmentOf(jobs_[job])) attachment->unjudged.push_back(job);
  LackResult(at);
}

// Too many errors or results: the workunit grants nothing, and nobody judges the results that it has.
void Fleet::GiveUp(std::uint32_t at) {
  Workunit& workunit = workunits_[at];
  workunit.failed = true;
  ++workunit.pass;
  if (workunit.first_job == kNone && workunit.unsent == 0) {
    FreeWorkunit(at);
    return;
  }
  for (std::uint32_t job_at = workunit.first_job; job_at != kNone;) {
    const std::uint32_t next = jobs_[job_at].next_of_workunit;
    if (jobs_[job_at].returned) {
      Judged(job_at, false);  // what waited for the verdict gets another result instead
      EndJob(job_at);
    }
    job_at = next;
  }
}

// A result that returned after the decision.
void Fleet::Late(std::uint32_t at) {
  const Job& job = jobs_[at];
  Workunit& workunit = workunits_[job.workunit];
  if (workunit.failed) return EndJob(at);
  const bool valid = workunit.single || (!job.wrong && !job.fabricated);
  ++workunit.pass;
  ++counts_.late;
  ++(valid ? counts_.valid : counts_.invalid);
  EmitValidation(job, valid ? credit::ValidateState::kValid : credit::ValidateState::kInvalid, 0, true);
  EndJob(at);
}

// ---- Memory --------------------------------------------------------------------------------------------

void Fleet::EndJob(std::uint32_t at) {
  Job& job = jobs_[at];
  const std::uint32_t workunit_at = job.workunit;
  std::uint32_t* link = &workunits_[workunit_at].first_job;
  while (*link != at) link = &jobs_[*link].next_of_workunit;
  *link = job.next_of_workunit;
  ++job.generation;
  free_jobs_.push_back(at);
  const Workunit& workunit = workunits_[workunit_at];
  const bool over = workunit.decided || workunit.failed;
  if (!over) users_before_.emplace(workunit_at, UserOf(job.slot, job.host_generation));
  if (workunit.first_job == kNone && workunit.unsent == 0 && over) FreeWorkunit(workunit_at);
}

void Fleet::FreeWorkunit(std::uint32_t at) {
  users_before_.erase(at);
  ++workunits_[at].generation;
  free_workunits_.push_back(at);
}

}  // namespace cobblestone::fleet
