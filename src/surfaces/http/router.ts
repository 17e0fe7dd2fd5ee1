// Which route a request is for. Fixed words come before placeholders: `/api/tasks/claimable` before `/api/tasks/:taskId`.

import type { IncomingMessage } from "node:http";
import type { Http } from "./context.js";

/** Answers a request, or throws the refusal. */
export type Answer = (http: Http) => Promise<void> | void;

interface Pattern {
  segments: readonly string[];
  answer: Answer;
}

export class Router {
  private readonly fixed = new Map<string, Answer>();
  /** By method and number of segments. */
  private readonly patterns = new Map<string, Pattern[]>();

  add(method: string, path: string, answer: Answer): void {
    if (!path.includes("/:")) {
      this.fixed.set(`${method} ${path}`, answer);
      return;
    }
    const segments = path.split("/");
    const key = `${method} ${segments.length}`;
    const alike = [...(this.patterns.get(key) ?? []), { segments, answer }];
    this.patterns.set(
      key,
      alike.sort((a, b) => placeholdersIn(a) - placeholdersIn(b)),
    );
  }

  /** The placeholders' values are set on the request. HEAD is GET, whose body is not sent. */
  find(http: Http): Answer | null {
    const method = http.method === "HEAD" ? "GET" : http.method;
    const fixed = this.fixed.get(`${method} ${http.path}`);
    if (fixed) return fixed;
    const segments = http.path.split("/");
    for (const pattern of this.patterns.get(`${method} ${segments.length}`) ?? []) {
      const params = matched(pattern, segments);
      if (!params) continue;
      http.params = params;
      return pattern.answer;
    }
    return null;
  }
}

const placeholdersIn = ({ segments }: Pattern) => segments.filter((each) => each.startsWith(":")).length;

function matched({ segments: wanted }: Pattern, segments: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [index, word] of wanted.entries()) {
    const segment = segments[index]!;
    if (word.startsWith(":")) {
      if (segment === "") return null;
      params[word.slice(1)] = decoded(segment, decodeURIComponent);
    } else if (word !== segment) return null;
  }
  return params;
}

/** Targets without escapes, dot segments and odd characters are what they say. */
const plain = /^\/[!$&'()*+,\-.0-9:;=@A-Z_a-z~/]*(?:\?[!$&'()*+,\-./0-9:;=?@A-Z_a-z~%]*)?$/;
const dotSegment = /\/\.\.?(?:[/?]|$)/;

/** What can be a host; which hosts are answered is the guard's to say. */
const host = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** The path that a request is for, decoded but for slashes, and its query. Null: its target or its host is none. */
export function targetOf({ url: target = "", headers }: IncomingMessage): {
  path: string;
  search: string;
} | null {
  if (!host.test(headers.host ?? "")) return null;
  if (plain.test(target) && !dotSegment.test(target)) {
    const query = target.indexOf("?");
    return query < 0
      ? { path: target, search: "" }
      : { path: target.slice(0, query), search: target.slice(query + 1) };
  }
  // A URL would take it for a slash.
  if (/^[^?]*\\/.test(target) || !/^(?:\/|https?:\/\/)/i.test(target)) return null;
  try {
    const url = new URL(target.startsWith("/") ? `http://server${target}` : target);
    // An escaped percent sign stays one until the segment is decoded.
    const path = url.pathname.replaceAll("%25", "%2525");
    return { path: decoded(path, decodeURI), search: url.search.slice(1) };
  } catch {
    return null;
  }
}

/** What does not decode stays as it is. */
function decoded(text: string, decode: (text: string) => string): string {
  if (!text.includes("%")) return text;
  try {
    return decode(text);
  } catch {
    return text;
  }
}
