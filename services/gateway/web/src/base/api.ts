// Requests to the gateway that served this page: addresses are relative to it.
import { parseJson } from "./json";
import type { AsOf, Id, Viewer } from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number, // the HTTP status; 0: no answer
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
  get needsToken(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

export interface Answer<T> {
  as_of?: AsOf;
  data: T;
  role?: "project" | "hub"; // of the deployment, with the projects
  viewer?: Viewer; // with the projects
}

const kTokenKey = "cobblestone.token";
const kTimeout = 20000; // ms

// Kept for this tab only, and deleted with it.
export function token(): string {
  return sessionStorage.getItem(kTokenKey) ?? "";
}

export function setToken(value: string): void {
  if (value) sessionStorage.setItem(kTokenKey, value);
  else sessionStorage.removeItem(kTokenKey);
}

function headers(): Record<string, string> {
  const own = token();
  return own ? { Authorization: `Bearer ${own}` } : {};
}

async function errorOf(response: Response): Promise<ApiError> {
  let code = "";
  let message = "";
  try {
    const body = parseJson(await response.text()) as { error?: { code?: string; message?: string } };
    code = body.error?.code ?? "";
    message = body.error?.message ?? "";
  } catch {
    // Not a JSON answer of the gateway, for example a proxy's page. The status is enough.
  }
  return new ApiError(response.status, code, message || `The gateway answered ${response.status} ${response.statusText}`.trim());
}

export async function request(path: string, signal?: AbortSignal, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, { ...init, headers: { Accept: "application/json", ...headers() }, ...(signal ? { signal } : {}) });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The gateway does not answer.");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function json(path: string, signal: AbortSignal, init?: RequestInit): Promise<unknown> {
  const late = new AbortController();
  const give_up = () => late.abort();
  signal.addEventListener("abort", give_up);
  const timer = setTimeout(give_up, kTimeout);
  try {
    return parseJson(await (await request(path, late.signal, init)).text());
  } catch (error) {
    if (late.signal.aborted && !signal.aborted) throw new ApiError(0, "timeout", `The gateway did not answer within ${kTimeout / 1000} seconds.`);
    if (error instanceof SyntaxError) throw new ApiError(0, "not_json", "The answer is not an answer of the gateway. Is another program listening at this address?");
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", give_up);
  }
}

export async function get<T>(path: string, signal: AbortSignal): Promise<Answer<T>> {
  const body = (await json(path, signal)) as Answer<T>;
  return body !== null && typeof body === "object" && "data" in body ? body : { data: body as T };
}

export async function post<T>(path: string, signal: AbortSignal): Promise<T> {
  return (await json(path, signal, { method: "POST" })) as T;
}

export function projectPath(project: Id, rest: string): string {
  return `projects/${encodeURIComponent(project)}/${rest}`;
}
