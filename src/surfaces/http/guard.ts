// Who may talk to this server from where. A page of another site, or a name that was made to point here, gets nothing: the Host
// must be one of ours to the letter, an Origin must be ours too, and nothing is ever shared across origins.

import type { IncomingMessage } from "node:http";
import { DibsError } from "../../contract/error.js";

/** Names that mean this machine. */
const loopbackNames = ["127.0.0.1", "localhost", "[::1]"];

/** Whoever calls this machine by another name may be on another one; also behind a proxy, whose calls all come from here. */
export const isCalledFromHere = ({ headers: { host = "" } }: IncomingMessage) =>
  loopbackNames.includes(host.replace(/:\d+$/, "").toLowerCase());

/** The values of a Host header that are this server. */
export function allowedHosts(host: string, port: number, more: readonly string[]): ReadonlySet<string> {
  const shown = host.includes(":") ? `[${host}]` : host;
  const names = new Set([...loopbackNames, ...(isAnyAddress(host) ? [] : [shown])]);
  const hosts = [...names].flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]);
  const further = more.flatMap((name) => [name, withPort(name, port)]);
  return new Set([...hosts, ...further].map((each) => each.toLowerCase()));
}

/** A name as one reaches this server by it: with our port, unless it has one of its own. */
const withPort = (name: string, port: number) => (/:\d+$/.test(name) ? name : `${name}:${port}`);

export const isAnyAddress = (host: string) => host === "0.0.0.0" || host === "::";

export const isLoopback = (host: string) =>
  host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);

/** `isOpen`: the address is one that a link from anywhere may lead to. */
export function refuseForeign(incoming: IncomingMessage, hosts: ReadonlySet<string>, isOpen: boolean): void {
  const { headers, method } = incoming;
  if (!namesOf(incoming).every((name) => hosts.has(name.toLowerCase()))) {
    throw new DibsError("FORBIDDEN", "This server does not answer to that Host.", {
      hint: "Use the address it printed at start, or start it with --allow-host.",
    });
  }
  const { origin } = headers;
  const isVisit = isOpen && method === "GET" && headers["sec-fetch-mode"] === "navigate";
  if (origin === undefined ? isVisit || isFromHere(headers["sec-fetch-site"]) : isOurs(origin, hosts)) return;
  throw new DibsError("FORBIDDEN", "Requests from pages of another origin are refused.", {
    hint: "Call the API from a program, or from a page that this server serves.",
  });
}

/** Every name by which a request calls this server: a second Host, or another name in its target, would be believed by others. */
function namesOf({ rawHeaders, headers: { host = "" }, url = "" }: IncomingMessage): string[] {
  const names = [host];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === "host")
      names.push(rawHeaders[at + 1]!);
  }
  if (!url.startsWith("/")) names.push(/^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "");
  return names;
}

/** What a browser says where it sends no Origin. Another port of this machine is `same-site`, and somebody else. */
function isFromHere(site: string | string[] | undefined): boolean {
  return site === undefined || site === "same-origin" || site === "none";
}

function isOurs(origin: string, hosts: ReadonlySet<string>): boolean {
  const match = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase());
  return match !== null && hosts.has(match[1]!);
}

const always = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

export const apiHeaders: Readonly<Record<string, string>> = {
  ...always,
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
};

export const pageHeaders: Readonly<Record<string, string>> = {
  ...always,
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cache-control": "no-cache",
};
