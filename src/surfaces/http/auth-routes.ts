// Signing in and out with a browser. The routes are not operations: they exist only where there are cookies.

import { DibsError } from "../../contract/error.js";
import { type Role, roles } from "../../contract/operation.js";
import { callerOf } from "../../operations/caller.js";
import { dispatch } from "../../operations/dispatch.js";
import type { Executor } from "../../operations/execute.js";
import { isTokenLive, tokenIdOf } from "../../operations/tokens.js";
import type { Authentication } from "./authentication.js";
import { readJsonObject, refuseOtherMedia } from "./body.js";
import type { Http } from "./context.js";
import type { Router } from "./router.js";
import { cookieMs, cookieOf, type SignInCodes, setCookie } from "./sign-in.js";

export interface AuthParts {
  executor: Executor;
  authentication: Authentication;
  codes: SignInCodes;
  /** Started with --no-auth: there is nothing to sign in to. */
  isOpen: boolean;
  cookie: () => string;
  bodyMs: number;
}

const bodyBytesMax = 4_096;

export function addAuth(router: Router, parts: AuthParts): void {
  router.add("POST", "/api/auth/exchange", (http) => exchange(http, parts));
  router.add("GET", "/api/auth/me", (http) => {
    http.call.route = "/api/auth/me";
    const { org, role } = http.call.caller!;
    http.json({ success: true, org, role, signedIn: !parts.isOpen });
  });
  router.add("POST", "/api/auth/code", async (http) => {
    http.call.route = "/api/auth/code";
    const { role: wanted } = await readBody(http, parts);
    const { org, role: own, token } = http.call.caller!;
    const role = wanted === undefined ? own : lesserRole(wanted, own);
    const { code, expiresAt } = parts.codes.make({ org, role, token });
    http.json({ success: true, code, expiresAt: new Date(expiresAt).toISOString() });
  });
  router.add("POST", "/api/auth/sign-out", (http) => signOut(http, parts));
}

/** Nobody gives away more than they have. */
function lesserRole(wanted: unknown, own: Role): Role {
  const role = roles.find((each) => each === wanted);
  if (role === undefined) {
    const message = `There is no such role; there are ${roles.join(", ")}.`;
    throw new DibsError("VALIDATION_FAILED", message, { details: { issues: [{ path: "role", message }] } });
  }
  if (roles.indexOf(role) <= roles.indexOf(own)) return role;
  throw new DibsError("FORBIDDEN", `Role ${own} cannot create a link for role ${role}.`, {
    hint: `Choose ${own} or a lesser role, or use a token with a higher role.`,
  });
}

function readBody({ incoming }: Http, { bodyMs }: AuthParts): Promise<Record<string, unknown>> {
  refuseOtherMedia(incoming);
  return readJsonObject(incoming, { bytesMax: bodyBytesMax, ms: bodyMs });
}

async function exchange(http: Http, parts: AuthParts): Promise<void> {
  const { executor, codes, cookie, isOpen, authentication } = parts;
  const { call, incoming } = http;
  call.route = "/api/auth/exchange";
  const { code } = await readBody(http, parts);
  if (isOpen) {
    const { org, role } = await authentication.callerOf(incoming);
    return http.json({ success: true, org, role });
  }
  const grant = codes.take(code);
  // A code is not good for longer than the token that asked for it.
  if (!grant || !(await isTokenLive(executor, grant.org, grant.token))) {
    throw new DibsError("UNAUTHENTICATED", "This link was used already, or is too old.", {
      hint: "For a new one, run: `dibs token link`",
    });
  }
  const { org, role, token } = grant;
  const admin = await callerOf(executor, { org, role: "admin", actor: "user:dashboard", token });
  // Nor is what it was exchanged for.
  const made = (await dispatch(
    executor,
    "tokens.create",
    { name: "dashboard", role, expiresInMs: cookieMs, bound: true },
    admin,
    {},
  )) as { token: string };
  const secure = incoming.headers["x-forwarded-proto"] === "https";
  const header = setCookie(cookie(), made.token, { secure, maxAgeMs: cookieMs });
  return http.json({ success: true, org, role }, 200, { "set-cookie": header });
}

async function signOut(http: Http, parts: AuthParts): Promise<void> {
  const { executor, cookie } = parts;
  const { call, incoming } = http;
  call.route = "/api/auth/sign-out";
  await readBody(http, parts);
  const text = cookieOf(incoming.headers.cookie, cookie());
  const id = text === null ? null : tokenIdOf(text);
  if (id !== null && id === call.caller!.token) {
    const { org } = call.caller!;
    const admin = await callerOf(executor, { org, role: "admin", actor: "user:dashboard" });
    await dispatch(executor, "tokens.revoke", { id }, admin, {});
  }
  const header = setCookie(cookie(), "", { secure: false, maxAgeMs: 0 });
  return http.json({ success: true }, 200, { "set-cookie": header });
}
