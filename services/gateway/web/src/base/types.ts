// The fields of the gateway's answers (described in openapi.json) that the page reads.

// 64 bit: a number if JavaScript can hold it exactly, otherwise its digits.
export type Id = number | string;
// A double; JSON has no infinities, so these are strings.
export type Double = number | "inf" | "-inf" | "nan";
// Cobblestones with six decimals, exact.
export type CreditText = string;
export type Kind = "user" | "host" | "team";

export interface AsOf {
  project: Id;
  event_time: number;
  epoch: Id;
  written_at?: number;
  positions?: { slot: number; sequence: Id; grants: Id }[];
}

export interface Project {
  project: Id;
  name: string;
  apps?: number;
  users?: number;
  hosts?: number;
  teams?: number;
  total?: CreditText;
}

// The viewer, and the data of others that the viewer may see.
export interface Viewer {
  role: string;
  sees_all: boolean; // accounts of other users, searches, refused records
  sees_leaders: boolean;
  account?: { project: Id; user: Id }; // the volunteer's own account
}

export interface DaySum {
  day: number; // UNIX day
  total: CreditText;
  grants: number;
}

export interface AccountNumbers {
  total: CreditText;
  provisional: CreditText; // part of the total: paid by trickles of results that are not decided
  shown: CreditText; // the total plus reversed credit that future credit makes up for
  opening: CreditText;
  grants: number;
  rac: Double;
  rac_time: Double;
  rac_now: Double;
  apps: { app: Id; app_name?: string; total: CreditText; grants: number }[];
  days: DaySum[];
}

// Reports of account managers; only for the user and the project.
export interface Estimates {
  credit: CreditText;
  provisional: CreditText; // the part that is not granted
  shown?: CreditText; // of a user: the highest total including it
  run_time: string; // s
  jobs: number;
  failed_jobs: number;
  failed_run_time: string; // s
  days: { day: number; credit: CreditText; run_time: string; jobs: number; failed_jobs: number; failed_run_time: string }[];
}

export interface Account extends AccountNumbers {
  estimates?: Estimates;
  kind: Kind;
  id: Id;
  name?: string;
  known?: boolean;
  deleted?: boolean;
  // users
  team?: Id;
  team_name?: string;
  waiting_grants?: number;
  expired_grants?: number;
  expired_credit?: CreditText;
  hosts_shown?: boolean;
  hidden?: boolean;
  host_count?: number;
  hosts?: { id: Id; total: CreditText; rac_now: Double; grants: number; description?: string }[];
  // hosts
  user?: Id;
  user_name?: string;
  cpus?: number;
  gpus?: number;
  whetstone?: Double;
  avg_turnaround?: Double;
  versions?: { app: Id; app_name?: string; app_version: Id; jobs: Double }[];
  // teams
  members?: number;
  top_members?: { id?: Id; name?: string; total: CreditText; rac_now: Double; hidden?: boolean }[];
}

// A change of an account: a grant, a change of a grant, or the balance from a former system (an opening), which has no result.
export interface GrantRow {
  kind: "final" | "partial" | "settlement" | "reversal" | "repricing" | "reinstatement" | "opening" | "correction";
  result?: Id;
  time: number;
  credit: CreditText;
  app?: Id;
  app_name?: string;
  host?: Id;
  late: boolean;
  rac?: Double; // of an opening
}

export interface Average {
  n: Double;
  mean: Double;
}

export interface Claim {
  result: Id;
  workunit: Id;
  host: Id;
  user?: Id;
  app: Id;
  app_version: Id;
  validated_at: Double;
  policy: string;
  policy_version: number;
  epoch: Id;
  awaited_claims?: number;
  facts: {
    elapsed_time_s: Double;
    cpu_time_s: Double;
    peak_flops: Double;
    fpops_est: Double;
    fpops_bound: Double;
    sent_time: Double;
    received_time: Double;
    reported: Double;
    benchmark: Double;
  };
  raw_pfc: Double;
  sample: Double;
  version_average: Average;
  version_scale: Double;
  min_avg_pfc: Double | null;
  host_average_before: Average;
  host_scale?: Double;
  consecutive_valid: Double;
  host_scale_time: Double;
  failure_rate?: Double; // policy robust
  reliability?: Double; // of the failure rate; a factor on the claim of a single result
  budget?: Double; // FLOPs that it left for this claim
  flags: string[];
  mode: string;
  pfc: Double;
  claimed: Double;
  paid_by_trickles?: { user: Id; credit: CreditText }[]; // payments while it ran
}

export interface OtherClaim {
  result?: Id; // absent, like host, if the viewer may not see other accounts
  host?: Id;
  mode: string;
  flags: string[];
  pfc: Double;
  claimed: Double;
  reliability?: Double; // policy robust
}

export interface Grant {
  kind: string;
  project: Id;
  result: Id;
  user: Id;
  host: Id;
  app: Id;
  app_name?: string;
  granted_at: Double;
  late: boolean;
  credit: CreditText;
  credit_micro: Id;
  credit_before_rounding: string | number;
  counted_as: string;
  max_granted_credit: Double;
  canonical_result: Id;
  ledger?: { partition: number; offset: Id };
  claim?: Claim;
  other_claims: OtherClaim[];
  postings: { account: Kind; id: Id; name?: string }[];
  waits_for?: string;
  expired?: string;
}

// The payment for a trickle.
export interface PartialGrant {
  time: Double;
  user?: Id;
  host: Id;
  variety: string;
  rule: string;
  policy_version: number;
  mark_before: Double;
  asked: Double;
  mark_after: Double;
  bounded_by: string[];
  paid_before: CreditText;
  credit: CreditText;
  sent_time: Double;
  phase?: number;
  model_version?: string;
}

// A trickle that was paid nothing; a refused trickle has no marks.
export interface UnpaidTrickle {
  time: Double;
  user?: Id;
  host: Id;
  variety: string;
  outcome: "repeat" | "set_back" | "no_further" | "nothing_due" | "held_back" | "refused";
  behind: number; // the number of partial grants before it
  refused?: string;
  reason?: string;
  bounded_by?: string[];
  mark_before?: Double;
  mark_after?: Double;
  asked?: Double;
  phase?: number;
  model_version?: string;
}

export interface Reversal {
  time: Double;
  credit: CreditText;
  made_final: CreditText;
  made_up_for_by_future_credit: boolean;
  reason?: string;
}

// An operator's reversal, repricing or reinstatement of a result.
export interface Correction {
  kind: "reversal" | "repricing" | "reinstatement";
  time: Double;
  before: CreditText;
  after: CreditText;
  policy_version?: number;
  judged_invalid?: boolean;
  like_result?: Id;
  reason?: string;
}

// A result that the validator judged invalid: nothing was granted to it.
export interface JudgedInvalid {
  time: Double;
  host: Id;
  worth?: CreditText; // by its claim alone; absent if no amount was named
}

export interface Explanation {
  result: Id;
  project: Id;
  grants: Grant[];
  partials?: PartialGrant[];
  unpaid?: UnpaidTrickle[];
  reversals?: Reversal[];
  corrections?: Correction[];
  judged_invalid?: JudgedInvalid;
  credit?: CreditText;
  pending?: { host: Id; has_completion: boolean; has_validation: boolean; waits_for: string };
}

export interface AppScale {
  app: Id;
  name?: string;
  policy?: string;
  policy_version?: number;
  min_avg_pfc?: Double | null;
  cpu_mean?: Double;
  gpu_mean?: Double;
  claims?: { n: Double; mean: Double; variance: Double };
}

export interface VersionScale {
  app_version: Id;
  app: Id;
  version_num: number;
  plan_class: string;
  gpu: boolean;
  pfc?: Average;
  scale?: Double;
  expavg_credit?: Double;
}

export interface Scales {
  project: Id;
  epoch: Id;
  time: Double;
  apps: AppScale[];
  versions: VersionScale[];
}

// The part of the catalogue that the page reads.
export interface AppVersion {
  app_version: Id;
  version_num: number;
  plan_class: string;
}

export interface ScalesThen {
  epoch: Id;
  time: number;
  apps: { app: Id; min_avg_pfc: Double | null; cpu_mean: Double; gpu_mean: Double }[];
  versions: { app_version: Id; scale: Double; pfc_mean?: Double }[];
}

export interface Refusal {
  number: number;
  reason: string;
  detail?: string; // this field and those below are absent if the record is redacted
  project: Id;
  topic?: string;
  partition?: number;
  offset?: Id;
  append_time: Double;
  bytes?: number;
  source?: string;
  line?: Id;
  event?: unknown;
  original?: string;
  left_out?: boolean; // not stored in full; cannot be resubmitted
  redacted?: boolean;
}

export interface Leader {
  rank: number;
  id?: Id; // absent if the user does not want to be named
  hidden?: boolean;
  name?: string;
  total: CreditText;
  rac_now: Double;
  grants?: number;
  team?: Id;
  team_name?: string;
  user?: Id;
  user_name?: string;
}

export interface Found {
  kind: Kind;
  id: Id;
  name?: string;
  total: CreditText;
  rac_now: Double;
}

export interface StageFlow {
  stage: string;
  lag: number;
  records_per_s: number;
}

export interface FlowNow {
  time: number;
  results_per_s: number;
  grants_per_s: number;
  credit_per_s: number;
  refused_per_s: number;
  refused: number;
  lag: number;
  commit_ms: { p50: number; p99: number } | null; // null: not measured by this process, or no commit yet
  stages: StageFlow[];
}

export interface GrantSeen {
  project?: Id;
  result: Id;
  user?: Id; // absent if the user does not want to be named
  user_name?: string;
  host: Id;
  credit: CreditText;
  app_name?: string;
  time: number;
}

// A host whose reports keep rising, with its newest alarm.
export interface HostToWatch {
  project: Id;
  app: Id;
  app_name: string;
  host: Id;
  result: Id; // whose claim raised the alarm
  time: Double;
  why: string; // a flag of the claim
}

// An app whose X has moved within a day.
export interface MovedLevel {
  project: Id;
  app: Id;
  app_name: string;
  x: Double;
  x_before: Double;
  time: Double;
  time_before: Double;
}

export interface Watch {
  hosts: HostToWatch[];
  levels: MovedLevel[];
}
