// The stream of live events, and the recent events, which are kept when the view changes.
import { ApiError, request } from "../base/api";
import { parseJson } from "../base/json";
import { EventParser } from "../base/sse";
import type { FlowNow, GrantSeen, Refusal } from "../base/types";

export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; retryAt: number; error: unknown }
  | { state: "refused"; error: ApiError }; // a token is needed; a retry would not help

export interface LiveListener {
  flow: (flow: FlowNow) => void;
  grant: (grant: GrantSeen) => void;
  refused: (refusal: Refusal) => void;
  connection: (connection: Connection) => void;
}

const kKept = 600; // flow events, about ten minutes
const kGrantsKept = 12;
const kSilence = 15000; // ms without data after which the connection counts as lost: a heartbeat arrives every ten seconds
const kFirstPause = 1000;
const kLongestPause = 30000;

export const seen: { flow: FlowNow[]; grants: GrantSeen[]; refusal: Refusal | null } = { flow: [], grants: [], refusal: null };

// Called when the token changes, because another token may see less.
export function forgetSeen(): void {
  seen.flow = [];
  seen.grants = [];
  seen.refusal = null;
}

export interface Live {
  now: () => void; // retry at once
}

// Runs until `signal` is aborted. Each failed attempt doubles the pause before the next attempt.
export function follow(listener: LiveListener, signal: AbortSignal): Live {
  let pause = kFirstPause;
  let wake: (() => void) | null = null;

  const take = (event: string, data: string) => {
    const value = parseJson(data);
    if (event === "flow") {
      const flow = value as FlowNow;
      seen.flow.push(flow);
      if (seen.flow.length > kKept) seen.flow.shift();
      listener.flow(flow);
    } else if (event === "grant") {
      const grant = value as GrantSeen;
      seen.grants.unshift(grant);
      seen.grants.length = Math.min(seen.grants.length, kGrantsKept);
      listener.grant(grant);
    } else if (event === "refused") {
      seen.refusal = value as Refusal;
      listener.refused(seen.refusal);
    }
  };

  const once = async () => {
    const own = new AbortController();
    const end = () => own.abort();
    signal.addEventListener("abort", end);
    window.addEventListener("offline", end, { signal: own.signal }); // the system reports the loss before the silence does
    let timer = setTimeout(end, kSilence);
    try {
      const response = await request("live", own.signal, { headers: { Accept: "text/event-stream" }, cache: "no-store" });
      const reader = response.body!.getReader();
      const decoder = new TextDecoder();
      const parser = new EventParser();
      let first = true;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(end, kSilence);
        if (first) {
          first = false;
          pause = kFirstPause;
          listener.connection({ state: "live" });
        }
        for (const one of parser.push(decoder.decode(value, { stream: true }))) take(one.event, one.data);
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      own.abort();
    }
  };

  const forever = async () => {
    listener.connection({ state: "connecting" });
    while (!signal.aborted) {
      let failure: unknown = new ApiError(0, "ended", "The connection ended.");
      try {
        await once();
      } catch (error) {
        if (error instanceof ApiError) failure = error;
        if (error instanceof ApiError && error.needsToken) {
          listener.connection({ state: "refused", error });
          return;
        }
      }
      if (signal.aborted) return;
      listener.connection({ state: "lost", retryAt: Date.now() + pause, error: failure });
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, pause);
      });
      pause = Math.min(pause * 2, kLongestPause);
    }
  };
  window.addEventListener("online", () => wake?.(), { signal });
  void forever();
  return { now: () => wake?.() };
}
