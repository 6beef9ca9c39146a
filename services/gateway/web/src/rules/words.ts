// Flags, modes, policies and reasons of refusal in sentences that a volunteer understands.
import { number, toNumber } from "../base/format";
import type { AppVersion, Correction, GrantRow, Id, JudgedInvalid, MovedLevel, PartialGrant, UnpaidTrickle } from "../base/types";

export interface Mark {
  name: string;
  meaning: string;
  warns: boolean;
}

const kFlags: Record<string, [string, string, boolean]> = {
  late: ["Late", "It came back after the workunit was decided. A late valid result gets what the others of its workunit got.", false],
  expired: ["Expired", "Its completion or validation did not arrive within the window, so an empty claim took its place and the workunit could be decided.", true],
  invalid: ["Not valid", "The validator did not accept this result.", true],
  runtime_outlier: ["Unusual run time", "The application says that this run time is no measure of the work, so no average learned from it.", false],
  host_deleted: ["Host is gone", "The host's row was deleted. Its claim counts for the others and it gets nothing itself.", true],
  anonymous_platform: ["Own application", "It ran an application that the project did not build (anonymous platform), so the claim does not rest on its measured run time alone.", false],
  on_probation: ["On probation", "The host's speed record is not trusted yet: its own correction is withheld or limited, and its claim may not count for others.", true],
  clamped: ["Cut to what is possible", "Something that was reported is more than this computer can have done between sending and return, or more than the project allows for one device. The possible amount took its place.", true],
  uncalibrated: ["New host", "Of no version of this app have enough results of this host been averaged yet (ten, if the project has not changed that). Until then a result that no other host computes earns the project's estimate. If other hosts compute it, too, it is compared with the average of the app version.", false],
  over_budget: ["Cut by the budget", "The claims of a host in an app may add up to little more than its jobs were estimated at (by default 4 % more). This claim would have exceeded that and was cut.", true],
  unreliable: ["Fails often", "This host returns too few of its jobs: about one in eight or more fails, is ended or never comes back. It may keep those that are small for their estimates, so its claim does not count beside a lower one of a host that returns its jobs. If all hosts of a workunit fail often, each of them can earn less.", true],
  rising: ["Rising reports", "What this host reports keeps rising. That is an alarm for the project; it changes nothing in the claim.", true],
  one_time_cheat: ["Far out of line", "The claim is many times what jobs of this version usually take. The host is put on probation, so that one wild number gains nothing.", true],
  sanity_check_failed: ["Not believable", "The work that this run would amount to is infinite, no number, or above the workunit's limit. The usual size of such a job took its place.", true],
  host_scale_check: ["Cherry-picking check", "This app checks for hosts that return only the jobs that pay best: a host must return results without errors for a while before its own correction is used.", false],
  unreplicated: ["Sent once", "This workunit was sent to one host only, because that host is reliable.", false],
  no_claim: ["No claim", "The known data of this result were not enough to compute a claim.", true],
};

// Flags that mean something else under policy robust.
const kRobustFlags: Record<string, [string, string, boolean]> = {
  sanity_check_failed: ["Not believable", "The work that this run would amount to is infinite or no number. The project's estimate took its place.", true],
  one_time_cheat: ["Far out of line", "The run amounts to many times the average with which it is compared (by default more than ten times). No more than that counts.", true],
};

// Flags that are explained. The flags valid and scaled are not among them: the steps of the claim show them.
export function marksOf(flags: string[], policy = ""): Mark[] {
  return flags.flatMap((flag) => {
    const words = (policy === "robust" ? kRobustFlags[flag] : undefined) ?? kFlags[flag];
    return words ? [{ name: words[0], meaning: words[1], warns: words[2] }] : [];
  });
}

const kModes: Record<string, string> = {
  normal: "with both corrections",
  approximate: "a correction was missing",
  workunit_estimate: "from the size of the workunit",
  capped: "above the cap, left out",
  none: "no claim",
  benchmark: "CPU time × benchmark",
  reported_flops: "operations counted by the app",
  runtime: "run time × speed",
  assigned: "named by the project or the app",
  default_pfc: "usual size of such a job",
  probation: "host on probation",
};

const kRobustModes: Record<string, string> = {
  normal: "from what the job measured",
  approximate: "new host",
};

export function modeWords(mode: string, policy = ""): string {
  return (policy === "robust" ? kRobustModes[mode] : undefined) ?? kModes[mode] ?? mode.replace(/_/g, " ");
}

const kPolicies: Record<string, string> = {
  boinc: "what BOINC's own server does, bit for bit",
  creditnew: "credit by peak operations, corrected per version and host, averaged over the replicas",
  "creditnew-v2": "credit by peak operations, of which the least claim counts",
  benchmark: "CPU time × the host's benchmark",
  "reported-flops": "the operations that the app counts",
  runtime: "run time × speed, with a mean that leans to small values",
  assigned: "credit that the project or the app names",
  robust: "what a job measures beside its host's average, lowered by failures, within a budget of what the host's jobs were estimated at",
  none: "statistics only, no credit",
};

export function policyWords(policy: string): string {
  return kPolicies[policy] ?? policy;
}

const kReasons: Record<string, [string, string]> = {
  UNDECODABLE: ["Not readable", "The bytes are not an event."],
  UNKNOWN_HOST: ["Unknown host", "No event announced its host within the result window."],
  UNKNOWN_RESULT: ["Other half missing", "Only the completion or only the validation arrived within the result window."],
  WRONG_HOST: ["Wrong host", "Completion, validation or dispatch of one result name different hosts."],
  DUPLICATE_WITH_OTHER_CONTENTS: ["Same id, other contents", "An event with this id and other contents was ingested before."],
  NOT_FINITE: ["Not a finite number", "Infinite or no number where a finite one is needed."],
  NEGATIVE: ["Negative", "A number below zero where only zero or more is allowed."],
  FROM_THE_FUTURE: ["From the future", "Its time is later than its arrival by more than clocks may differ."],
  TOO_LATE: ["Too late", "It arrived after the result window."],
  UNKNOWN_APP: ["Unknown app", "The catalogue has no such app."],
  UNKNOWN_APP_VERSION: ["Unknown app version", "There is no such version, or the number is not a valid version number."],
  WRONG_WORKUNIT: ["Wrong workunit", "Completion, validation or dispatch of one result name different workunits."],
  ALREADY_DECIDED: ["Already decided", "The result was granted or found invalid before; only a reversal changes that."],
  MISSING_FIELD: ["Field missing", "A required field is missing or 0."],
  UNKNOWN_USER: ["Unknown user", "A grant to a user that no event announced in time: its host has its share."],
  UNKNOWN_POLICY: ["Unknown policy", "The app names a policy that does not exist."],
  UNKNOWN_TEAM: ["Unknown team", "Its team was not announced."],
  DISPATCH_DIFFERS: ["Dispatch differs", "Dispatch and completion of one result differ."],
  OUT_OF_RANGE: ["Out of range", "A number outside its range, or a word outside its list."],
  NOT_SUPPORTED: ["Not supported", "A kind of event that this program does not know."],
  CRASHED: ["Crashed", "Processing it crashed the program three times: a fault of ours, please report it."],
  UNKNOWN_PROJECT: ["Unknown project", "A feed of a project that is not registered with this hub."],
};

export function reasonName(reason: string): string {
  return kReasons[reason]?.[0] ?? reason;
}

export function reasonWords(reason: string): string {
  return kReasons[reason]?.[1] ?? "A reason that this page does not know yet.";
}

const kStages: Record<string, [string, string]> = {
  claims: ["Claims", "prices each valid result"],
  grants: ["Grants", "settles the replicas of a workunit"],
  accounts: ["Accounts", "adds to users and hosts"],
  teams: ["Teams", "adds to teams"],
  coordinator: ["Coordinator", "moves time and the scales"],
};

export function stageName(stage: string): string {
  return kStages[stage]?.[0] ?? stage;
}

export function stageWords(stage: string): string {
  return kStages[stage]?.[1] ?? "";
}

export function versionName(version: { version_num: number; plan_class: string }): string {
  const number = `${Math.floor(version.version_num / 100)}.${String(version.version_num % 100).padStart(2, "0")}`;
  return version.plan_class ? `${number} (${version.plan_class})` : number;
}

const kAnonymous: Record<string, string> = {
  "-2": "own CPU application", "-3": "own NVIDIA application", "-4": "own AMD application", "-5": "own Intel GPU application",
  "-6": "own Apple GPU application",
};

// "version 1.03 (cpu_3), id 20"; without a known `version` "version 20".
export function appVersionWords(id: Id, version?: AppVersion): string {
  return kAnonymous[String(id)] ?? (version ? `version ${versionName(version)}, id ${id}` : `version ${id}`);
}

// The kind of a row in an account's list of grants. Empty for the final grant of a result, the most frequent kind.
export function movedWords(row: Pick<GrantRow, "kind" | "credit">): string {
  switch (row.kind) {
    case "final": return "";
    case "partial": return "trickle";
    case "settlement": return Number(row.credit) < 0 ? "reversed" : "made final";
    case "reversal": return "reversed";
    case "repricing": return "repriced";
    case "reinstatement": return "reinstated";
    case "correction": return "corrected";
    case "opening": return "Opening balance"; // the whole text of its cell
  }
}

const kUnpaidWords: Record<UnpaidTrickle["outcome"], string> = {
  repeat: "same as an earlier message",
  set_back: "below the high-water mark",
  no_further: "not above the high-water mark",
  nothing_due: "too little for a millionth of a Cobblestone",
  held_back: "held back",
  refused: "refused",
};

// The outcome of a message of a running job, unless the outcome is only its credit.
export function trickleWords(message: PartialGrant | UnpaidTrickle): string {
  const parts: string[] = [];
  if ("outcome" in message) {
    const why = [message.refused && ` (${message.refused})`, message.reason && `: ${message.reason}`].filter(Boolean).join("");
    parts.push((kUnpaidWords[message.outcome] ?? message.outcome.replaceAll("_", " ")) + why);
  }
  const bounds = (message.bounded_by ?? []).map((b) => b.replaceAll("_", " ")).join(", ");
  if (bounds !== "") parts[0] === "held back" ? (parts[0] += ` by ${bounds}`) : parts.push(`held back by ${bounds}`);
  return parts.join(", ");
}

// All messages in their order.
export function messagesOf(partials: PartialGrant[], unpaid: UnpaidTrickle[]): (PartialGrant | UnpaidTrickle)[] {
  const all: (PartialGrant | UnpaidTrickle)[] = [];
  let next = 0;
  for (let k = 0; k <= partials.length; ++k) {
    for (; next < unpaid.length && unpaid[next]!.behind <= k; ++next) all.push(unpaid[next]!);
    if (k < partials.length) all.push(partials[k]!);
  }
  return all;
}

// The source of the amount that was granted to a result after it had been judged invalid.
export function firstCreditWords(correction: Pick<Correction, "like_result">, judged: JudgedInvalid | undefined): string {
  if (correction.like_result !== undefined) return `what result ${correction.like_result} of its workunit was granted`;
  return judged?.worth !== undefined ? "what its own claim comes to" : "an amount that an operator has named";
}

// By how much an app's X has moved.
export function levelWords(level: Pick<MovedLevel, "x" | "x_before">): string {
  const part = toNumber(level.x) / toNumber(level.x_before) - 1;
  return `${part < 0 ? "−" : "+"}${number(Math.abs(part) * 100, 3)} %`;
}
