// The fields of the hub's answers (api/v1/federation) that the page reads.
import type { CreditText, Double, Id, Kind } from "../base/types";

export interface Edition {
  edition: number;
  state: "arriving" | "complete" | "held";
  published_time: Double;
  begun_time: Double;
  ended_time: Double;
  reason?: string;
  released?: boolean;
  whole: boolean;
  sums: { kind: Kind; accounts: number; total: CreditText; changed: number }[];
}

// What the same hosts earn at a project / at another one, the median and its 95 % interval.
export interface SharedHosts {
  project: Id;
  project_name: string;
  hosts: number;
  ratio: Double;
  least: Double;
  greatest: Double;
}

export interface HubProject {
  project: Id;
  name: string;
  url: string;
  mode: "files" | "direct";
  retired: boolean;
  shared_accounts: Id[]; // users that belong to an account manager
  account_manager: boolean; // its credit was earned at the other projects
  points_per_cobblestone: Double;
  points_since?: number; // UNIX day: they count from it on; absent: for all credit
  condition: string;
  condition_reason?: string;
  condition_next_step?: string; // for the hub's operator
  condition_time: Double;
  app_versions: number;
  complete_edition: number;
  held_edition: number;
  held_reason?: string;
  held_next_step?: string;
  published_time?: Double;
  unknown_since?: Double; // 0: known
  users?: number;
  hosts?: number;
  teams?: number;
  total?: CreditText;
  cobblestones?: CreditText; // the total
  rac?: Double;
  shared_hosts?: SharedHosts[];
  editions?: Edition[];
}

export interface ProjectDay {
  day: number;
  credit: CreditText;
  accounts?: number;
  edition?: number;
}

export interface Standing {
  cpid: string;
  first_day: number;
  last_day: number;
  standing: string;
  counts: boolean;
}

// A row of a list. People have `identity` and `projects`, accounts of a project have `id`.
export interface Row {
  rank: number;
  id?: Id;
  project?: Id;
  project_name?: string;
  identity?: string;
  key?: string;
  name?: string;
  country?: string;
  total: CreditText;
  cobblestones?: CreditText; // the total, of a project with other points
  rac: Double;
  in_sum?: boolean; // of a host over projects
  projects?: number;
  members?: number;
  people?: number;
}

export interface HubAccount {
  kind: Kind;
  project: Id;
  project_name: string;
  id: Id;
  name: string;
  country: string;
  url: string;
  description?: string;
  create_time: Double;
  total: CreditText;
  rac: Double;
  edition: number;
  cpid?: string;
  team?: Id;
  team_name?: string;
  owner?: Id;
  rank_total?: number;
  rank_rac?: number;
  of?: number;
  team_members?: number;
  days?: { day: number; credit: CreditText; correction?: boolean }[];
  in_sum?: boolean; // of a user: false if it belongs to an account manager
  // Of a person's account:
  cobblestones?: CreditText; // the total, of a project with other points
  ids?: Standing[];
}

export interface Possible {
  identity: string;
  project: Id;
  user: Id;
  cpid: string;
  standing: string;
}

export interface HubCorrection {
  project: Id;
  day_about: number | null; // null: the project does not say
  day_came: number;
  credit: CreditText;
  note?: string;
}

export interface PersonDay {
  day: number;
  credit: Record<string, CreditText>;
}

export interface Person {
  identity: string;
  name?: string;
  country?: string;
  total: CreditText;
  rac: Double;
  rank_total?: number;
  rank_rac?: number;
  of?: number;
  accounts: HubAccount[];
  possible: Possible[];
  days?: PersonDay[];
  corrections?: HubCorrection[];
}

export interface LeftOut {
  project: Id;
  name: string;
  app_version: Id;
  plan_class: string;
  reason: string;
  words: string;
}

// Between which targets any single project could have moved a factor.
export interface Reach {
  least: Double;
  greatest: Double | null; // null: no bound
  silence_is_default: boolean;
}

export interface Factor {
  plan_class: string;
  resource: string;
  factor: Double;
  target: Double;
  is_default: boolean;
  reach?: Reach; // absent if is_default
  contributions: { project: Id; name: string; credit: Double; weight: Double; value: Double; app_versions: Id[] }[];
  left_out: LeftOut[];
}

export interface Factors {
  sequence: number;
  newest: number;
  as_of: Double;
  factors: Factor[];
  left_out: LeftOut[];
}

export interface World {
  width: number;
  height: number;
  countries: { name: string; also?: string[]; path?: string; at?: [number, number] }[];
}
