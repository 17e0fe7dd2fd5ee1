// Authentication: a bearer token, or the cookie that a one-time code was exchanged for. A call without either is refused,
// unless the server was started with --no-auth on loopback. Each token has a limited number of open requests and streams.

import type { IncomingMessage } from "node:http";
import { DibsError } from "../../contract/error.js";
import { callerOf } from "../../operations/caller.js";
import type { Caller } from "../../operations/environment.js";
import type { Executor } from "../../operations/execute.js";
import { type Bearer, recentBearer, verifyToken } from "../../operations/tokens.js";
import { isCalledFromHere } from "./guard.js";
import { cookieOf } from "./sign-in.js";

export interface AuthenticationOptions {
  /** Null: everybody is the admin of this org. */
  openTo: string | null;
  /** Where calls of this org without a project happen; absent: the org's default project. */
  project?: string | undefined;
  org: string;
  /** The id of the token in the file next to the database. */
  ownToken: () => string | null;
  cookie: () => string;
  requestsMax: number;
  streamsMax: number;
}

export type Use = "requests" | "streams";

export class Authentication {
  /** Kept with the bearer, so that a revocation drops both; apart by whether they call from this machine. */
  private readonly callers = {
    here: new WeakMap<Bearer, Caller>(),
    elsewhere: new WeakMap<Bearer, Caller>(),
  };
  private readonly under = { requests: new Map<string, number>(), streams: new Map<string, number>() };

  constructor(
    private readonly executor: Executor,
    private readonly options: AuthenticationOptions,
  ) {}

  /** Whose token was verified a moment ago; null: `callerOf` finds out. */
  recentCaller(incoming: IncomingMessage): Caller | null {
    const text = this.options.openTo === null ? this.tokenIn(incoming) : null;
    const bearer = text === null ? null : recentBearer(this.executor, text);
    return (bearer && this.knownFrom(incoming).get(bearer)) ?? null;
  }

  async callerOf(incoming: IncomingMessage): Promise<Caller> {
    const { openTo } = this.options;
    if (openTo !== null) {
      const local = { org: openTo, role: "admin", actor: "user:local" } as const;
      return this.placed(await callerOf(this.executor, local), incoming);
    }
    const { bearer, known } = await this.identify(incoming);
    const caller = this.placed(known, incoming);
    this.knownFrom(incoming).set(bearer, caller);
    return caller;
  }

  private knownFrom(incoming: IncomingMessage): WeakMap<Bearer, Caller> {
    return isCalledFromHere(incoming) ? this.callers.here : this.callers.elsewhere;
  }

  /** Where it calls from, and where it works. */
  private placed(known: Caller, incoming: IncomingMessage): Caller {
    const { project, org } = this.options;
    const caller = isCalledFromHere(incoming) ? known : { ...known, isElsewhere: true };
    return project === undefined || caller.org !== org ? caller : { ...caller, project };
  }

  private async identify(incoming: IncomingMessage): Promise<{ bearer: Bearer; known: Caller }> {
    const text = this.tokenIn(incoming);
    const bearer = text === null ? null : await verifyToken(this.executor, text);
    if (!bearer) {
      throw new DibsError(
        "UNAUTHENTICATED",
        text === null ? "A token is needed." : "This token is not known here.",
        {
          hint: "Send the header Authorization: Bearer <token>. The token file next to the database has one; `dibs token create` creates more.",
        },
      );
    }
    const { org, role, id, name } = bearer;
    // Commands move between the server and its file, and repeat a call under the key it had: both share their keys.
    const keysOf = id === this.options.ownToken() ? undefined : id;
    const about = { org, role, actor: `user:${name}`, token: id, keysOf };
    return { bearer, known: await callerOf(this.executor, about) };
  }

  tokenIn({ headers }: IncomingMessage): string | null {
    const { authorization } = headers;
    if (authorization !== undefined) return /^Bearer\s+(\S+)$/i.exec(authorization.trim())?.[1] ?? "";
    return cookieOf(headers.cookie, this.options.cookie());
  }

  /** Counts one more; the answer counts it off again. */
  enter(caller: Caller, use: Use): () => void {
    const counts = this.under[use];
    const key = `${caller.org}/${caller.token ?? ""}`;
    const count = counts.get(key) ?? 0;
    const max = use === "requests" ? this.options.requestsMax : this.options.streamsMax;
    if (count >= max) {
      throw new DibsError("RATE_LIMITED", `This token has ${max} ${use} under way already.`, {
        hint: "Wait for some of them to end, or use another token.",
        details: { max },
      });
    }
    counts.set(key, count + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = counts.get(key)! - 1;
      if (now === 0) counts.delete(key);
      else counts.set(key, now);
    };
  }
}
