// Conditions of projects and standings of ids, in sentences.
import * as format from "../base/format";
import type { Double } from "../base/types";
import type { Factor, HubProject } from "./types";

interface Words {
  name: string;
  tone: "good" | "warn" | "bad" | "none";
  meaning: string;
}

const kConditions: Record<string, Words> = {
  fine: { name: "Fine", tone: "good", meaning: "It answers and has work." },
  no_work: { name: "No work", tone: "warn", meaning: "It answers, but has no jobs to send." },
  stuck: { name: "Stuck", tone: "warn", meaning: "It answers, but a part of it makes no progress." },
  stopped: { name: "Stopped", tone: "bad", meaning: "Its operators have stopped it." },
  moved: { name: "Moved", tone: "warn", meaning: "It says that its address is another one." },
  unreachable: { name: "Unreachable", tone: "bad", meaning: "It does not answer." },
};

export function conditionWords(condition: string): Words {
  return kConditions[condition] ?? { name: "Not known", tone: "none", meaning: "The hub has not asked about its condition yet, or it does not say." };
}

// A reason that the hub or the project gives, which has neither a capital nor a full stop.
export function sentence(text: string): string {
  const whole = text.trim();
  return whole && whole.charAt(0).toUpperCase() + whole.slice(1) + (/[.!?]$/.test(whole) ? "" : ".");
}

const kDay = 86400;

// "on 2026-11-20, 3 days ago".
export function ageWords(seconds: Double | undefined, now: number): string {
  const at = format.toNumber(seconds);
  if (!(at > 0)) return "";
  const days = Math.floor((now - at) / kDay);
  const age = days < 0 ? "" : days === 0 ? ", today" : days === 1 ? ", a day ago" : `, ${format.count(days)} days ago`;
  return `${format.utc(at).slice(0, 10)}${age}`;
}

// Since when nothing newer is known; empty while the project is known.
export function unknownWords(project: HubProject): string {
  const since = format.toNumber(project.unknown_since);
  if (!(since > 0)) return "";
  return `Unknown since ${format.utc(since).slice(0, 10)}`;
}

// How many points of the project are one Cobblestone: "7 since 2026-12-01, 1 before".
export function pointsWords(project: HubProject): string {
  const points = format.number(format.toNumber(project.points_per_cobblestone));
  return project.points_since === undefined ? points : `${points} since ${format.dayText(project.points_since)}, 1 before`;
}

const kStandings: Record<string, [string, string]> = {
  joined: ["own or confirmed", "The account's own id, or one that a second project confirms."],
  swing: ["changes to and fro", "The account changes between this id and another one and returns, as happens if the computers of one person know different ids. No other project has separate accounts for the two."],
  unconfirmed: ["not confirmed", "Only this project says that the id belongs to the person. It counts once a second project says the same."],
  contradicted: ["contradicted", "Another project has separate accounts for the two ids, so they may be two people."],
  noise: ["too many ids", "The account has shown more than four ids that others had before, so none of these links counts."],
  crowded: ["too many accounts", "More than four accounts of the project have shown this id, so none of them counts."],
  held_by_another: ["another account's", "An earlier account of the same project holds this id."],
  cut: ["cut", "An operator of the hub, or the owner, has separated the account from this id."],
};

export function standingName(standing: string): string {
  return kStandings[standing]?.[0] ?? standing;
}

// `counts` is of the id: a swing does not count while the swings of its project are not believed.
export function standingWords(standing: string, counts: boolean): string {
  if (standing === "swing" && !counts) return "The account changes to and fro between ids, but so many accounts of this project do that their changes are not believed.";
  return kStandings[standing]?.[1] ?? "";
}

const kResources: Record<string, string> = { nvidia: "NVIDIA GPU", amd: "AMD GPU", intel_gpu: "Intel GPU", apple_gpu: "Apple GPU", cpu: "CPU" };

export function resourceWords(resource: string): string {
  return kResources[resource] ?? resource;
}

// An address from a feed; only web addresses become links.
export function webAddress(url: string): string | null {
  return /^https?:\/\/[^\s"'<>]+$/i.test(url) ? url : null;
}

// What one project that lies could have done to a factor; empty if no report counts.
export function reachWords(factor: Factor): string {
  const reach = factor.reach;
  if (reach === undefined) return "";
  if (reach.greatest === null) return "Too few projects: a single one could have moved it to any value.";
  const subject = format.toNumber(factor.factor) === format.toNumber(factor.target) ? "it" : "the median";
  const bounds = `No single project could have moved ${subject} below ${format.number(format.toNumber(reach.least))} or above ${format.number(format.toNumber(reach.greatest))}, whatever it reported.`;
  return reach.silence_is_default ? `${bounds} If one of the ${factor.contributions.length} fell silent, the factor would return to the default in steps.` : bounds;
}
