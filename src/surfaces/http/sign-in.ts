// The dashboard's way in: a one-time code in the fragment of a link, exchanged for a token that lives in a cookie scripts cannot
// read. The code never reaches a log, because fragments are not sent.

import { randomBytes } from "node:crypto";
import type { Role } from "../../contract/operation.js";

export interface Grant {
  org: string;
  role: Role;
  /** The token whose bearer asked for the code; absent: the server itself. */
  token?: string | undefined;
}

const codeMs = 10 * 60 * 1000;
/** Per token, so that nobody can push out the codes of others. */
const codesPerTokenMax = 10;
const codesMax = 10_000;
export const cookieMs = 30 * 24 * 60 * 60 * 1000;

export class SignInCodes {
  private readonly pending = new Map<string, Grant & { until: number }>();

  constructor(private readonly now: () => number) {}

  make(grant: Grant): { code: string; expiresAt: number } {
    const code = randomBytes(18).toString("base64url");
    const until = this.now() + codeMs;
    this.pending.set(code, { ...grant, until });
    this.dropOld(grant);
    return { code, expiresAt: until };
  }

  private dropOld({ org, token }: Grant): void {
    const now = this.now();
    const own: string[] = [];
    for (const [code, grant] of this.pending) {
      if (grant.until <= now) this.pending.delete(code);
      else if (grant.org === org && grant.token === token) own.push(code);
    }
    for (const code of own.slice(0, -codesPerTokenMax)) this.pending.delete(code);
    for (const oldest of this.pending.keys()) {
      if (this.pending.size <= codesMax) break;
      this.pending.delete(oldest);
    }
  }

  /** Once. */
  take(code: unknown): Grant | null {
    if (typeof code !== "string") return null;
    const grant = this.pending.get(code);
    this.pending.delete(code);
    if (!grant || grant.until <= this.now()) return null;
    const { until: _, ...granted } = grant;
    return granted;
  }
}

/** Cookies do not know ports: two servers on one machine need two names. */
export const cookieName = (port: number) => `dibs_${port}`;

export function cookieOf(header: string | undefined, name: string): string | null {
  for (const part of header?.split(";") ?? []) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return null;
}

export function setCookie(
  name: string,
  value: string,
  { secure, maxAgeMs }: { secure: boolean; maxAgeMs: number },
): string {
  const seconds = Math.floor(maxAgeMs / 1000);
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
}
