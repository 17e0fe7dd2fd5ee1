// How tokens are verified. The text of a token contains its org, so that no search is needed:
// `dibs~<org>~<id>~<secret>`. (No org has a `~` in its name; the fixed prefix lets scanners find tokens that
// were published by mistake.)

import { idProblem } from "../core/ids.js";
import { limits } from "../core/limits.js";
import { UnknownOrgError } from "../core/refusal.js";
import type { Role } from "../core/role.js";
import { isExpired, tokenKind, toToken, validToken } from "../core/token.js";
import type { Executor } from "./execute.js";

export interface Bearer {
  org: string;
  id: string;
  name: string;
  role: Role;
}

interface TokenParts {
  org: string;
  id: string;
  secret: string;
}

export function tokenText({ org, id, secret }: TokenParts): string {
  return `dibs~${org}~${id}~${secret}`;
}

function partsOf(text: string): TokenParts | null {
  const [, org, id, secret] = /^dibs~([^~]{1,128})~([^~]{1,128})~([\w-]{43})$/.exec(text) ?? [];
  if (org === undefined || id === undefined || secret === undefined) return null;
  return idProblem(org) || idProblem(id) ? null : { org, id, secret };
}

/** How long a revocation by another process can go unnoticed. */
const trustMs = 3_000;
const trustedMax = 1_000;

/** Tokens seen valid a moment ago, by the hash of their text. */
class Trusted {
  private readonly bearers = new Map<string, { bearer: Bearer; until: number }>();
  /** A token that was read before a revocation must not be cached after it. */
  revocations = 0;

  get(hash: string): Bearer | null {
    const known = this.bearers.get(hash);
    if (!known) return null;
    this.bearers.delete(hash);
    if (performance.now() >= known.until) return null;
    this.bearers.set(hash, known); // The least recently used one is first.
    return known.bearer;
  }

  add(hash: string, bearer: Bearer): void {
    this.bearers.set(hash, { bearer, until: performance.now() + trustMs });
    if (this.bearers.size > trustedMax) this.bearers.delete(this.bearers.keys().next().value!);
  }

  readonly listeners = new Set<(org: string) => void>();

  /** All of the org: a revocation can end other tokens too. */
  forget(org: string): void {
    this.revocations++;
    for (const listener of this.listeners) listener(org);
    for (const [hash, { bearer }] of this.bearers) if (bearer.org === org) this.bearers.delete(hash);
  }
}

const trustedBy = new WeakMap<Executor, Trusted>();

function trustedOf(executor: Executor): Trusted {
  const trusted = trustedBy.get(executor) ?? new Trusted();
  trustedBy.set(executor, trusted);
  return trusted;
}

/** The same object as long as its token is trusted without a look into the store. */
export function recentBearer(executor: Executor, text: string): Bearer | null {
  return trustedOf(executor).get(executor.environment.digest(text));
}

/** The bearer of the token with this text, or null. */
export async function verifyToken(executor: Executor, text: string): Promise<Bearer | null> {
  const parts = partsOf(text);
  if (!parts) return null;
  const { environment } = executor;
  const trusted = trustedOf(executor);
  const hash = environment.digest(text);
  const known = trusted.get(hash);
  if (known) return known;
  const { revocations } = trusted;
  const found = await lookUp(executor, parts);
  if (!found || !environment.isSame(found.token.hash, environment.digest(parts.secret))) return null;
  const { id, name, role, expiresAt } = found.token;
  const bearer = { org: parts.org, id, name, role };
  // In the last seconds of its life the store decides each time: only the store's clock knows when it expires.
  const isLasting = expiresAt === null || expiresAt - found.now > trustMs;
  if (isLasting && trusted.revocations === revocations) trusted.add(hash, bearer);
  return bearer;
}

async function lookUp(executor: Executor, { org, id }: TokenParts) {
  try {
    return await executor.store.read(org, (view, now) => {
      const token = validToken(view, id, now);
      return token && { token, now };
    });
  } catch (error) {
    if (error instanceof UnknownOrgError) return null;
    throw error;
  }
}

/** The id in the text of a token, verified or not. */
export function tokenIdOf(text: string): string | null {
  return partsOf(text)?.id ?? null;
}

/** Whether the token is still valid; callers without a token stay admitted. */
export async function isTokenLive(executor: Executor, org: string, id: string | undefined): Promise<boolean> {
  if (id === undefined) return true;
  return executor.store.read(org, (view, now) => validToken(view, id, now) !== null);
}

/** Calls back when a token of an org was revoked through this process. */
export function onRevocation(executor: Executor, listener: (org: string) => void): void {
  trustedOf(executor).listeners.add(listener);
}

/** Takes effect in this process at once. */
export function forgetTokens(executor: Executor, org: string): void {
  trustedOf(executor).forget(org);
}

/** Removes expired tokens. Best effort: no answer depends on it. */
export async function dropExpiredTokens(executor: Executor, org: string): Promise<void> {
  try {
    const ids = await executor.store.read(org, (view, now) =>
      view
        .documents({ kind: tokenKind, limit: limits.openClaimsMax, readableOnly: true })
        .filter(({ value }) => isExpired(toToken(value), now))
        .slice(0, limits.pageMax)
        .map(({ key }) => key),
    );
    if (ids.length > 0) await executor.system(org, { type: "drop-tokens", ids });
  } catch {
    // The store is busy or cannot be written; the next call tries again.
  }
}
