// The sessions of a spool: one for every held task, so that a dead worker loses only its own task. They have no process:
// the proxy can be killed and restarted while workers continue, and only missing heartbeats end a session.

import type { Dibs } from "../../client/client.js";
import { everyClaim } from "../../client/every-claim.js";
import { HeldSession, hasCode } from "../../client/holding/index.js";
import { newKey } from "../../client/keys.js";
import { DibsError } from "../../contract/error.js";
import type { WireClaim, WireTask } from "../../contract/shapes.js";

export interface Claimed {
  claim: WireClaim;
  task: WireTask;
  askedAt: number;
}

export interface SpoolSessionsOptions {
  dibs: Dibs;
  project: { project?: string };
  agent: string;
  /** Prefix of all session ids. */
  prefix: string;
  /** Whether heartbeats follow; false with `once`. */
  heartbeats: boolean;
  now(): number;
}

export class SpoolSessions {
  private readonly sessions = new Map<string, HeldSession>();
  /** The answer to a claim was lost: the store may hold a claim that has no record here. */
  isUncertain = true;

  constructor(private readonly options: SpoolSessionsOptions) {}

  /** The first session id without a task. */
  free(used: ReadonlySet<string>): string {
    for (let number = 1; ; number++) {
      const sessionId = `${this.options.prefix}-${number}`;
      if (!used.has(sessionId)) return sessionId;
    }
  }

  isOurs(sessionId: string): boolean {
    const { prefix } = this.options;
    return sessionId.startsWith(`${prefix}-`) && /^\d+$/.test(sessionId.slice(prefix.length + 1));
  }

  private session(id: string): HeldSession {
    const known = this.sessions.get(id);
    if (known) return known;
    const { dibs, project, agent, heartbeats } = this.options;
    const session = new HeldSession(() => dibs, {
      ...{ ...project, id, name: agent, agentType: agent, capacity: 1, heartbeats },
    });
    this.sessions.set(id, session);
    return session;
  }

  async register(sessionId: string, heartbeats = this.options.heartbeats): Promise<void> {
    await this.session(sessionId).register({ heartbeats });
  }

  /** Its task returns to the queue, counted as lost. */
  async end(sessionId: string): Promise<void> {
    await this.session(sessionId).end();
  }

  /** Ends registered sessions without a task. */
  async endIdle(used: ReadonlySet<string>): Promise<void> {
    for (const session of this.sessions.values())
      if (session.isRegistered && !used.has(session.id)) await session.end();
  }

  async claimNext(sessionId: string): Promise<Claimed | null> {
    const { dibs, project, now, agent } = this.options;
    const input = { ...project, sessionId, resume: false, why: false, metadata: { spool: agent } };
    const idempotencyKey = newKey();
    this.isUncertain = true;
    const askedAt = now();
    const answer = await this.session(sessionId).known(() => dibs.tasks.claimNext(input, { idempotencyKey }));
    this.isUncertain = false;
    return answer.claim && answer.task ? { claim: answer.claim, task: answer.task, askedAt } : null;
  }

  async claim(sessionId: string, taskId: string): Promise<Claimed> {
    const { dibs, project, now, agent } = this.options;
    const input = { ...project, taskId, sessionId, metadata: { spool: agent } };
    const askedAt = now();
    const { claim, task } = await this.session(sessionId)
      .known(() => dibs.tasks.claim(input))
      .catch((error) => {
        if (!(error instanceof DibsError) || error.retryable) this.isUncertain = true;
        throw error;
      });
    return { claim, task, askedAt };
  }

  /** The claims of our sessions in the store. */
  async held(): Promise<Claimed[]> {
    const { dibs, project, now } = this.options;
    const askedAt = now();
    const claimed: Claimed[] = [];
    for await (const { claim, taskId } of everyClaim(dibs, project)) {
      if (!this.isOurs(claim.sessionId)) continue;
      const found = await dibs.tasks.get({ ...project, taskId }).catch(unlessCode("TASK_NOT_FOUND"));
      if (found) claimed.push({ claim, task: found.task, askedAt });
    }
    this.isUncertain = false;
    return claimed;
  }
}

function unlessCode(code: DibsError["code"]): (error: unknown) => null {
  return (error) => {
    if (!hasCode(error, code)) throw error;
    return null;
  };
}
