// Links of Markdown pages: where they lead, and whether that exists. Anchors are those of GitHub; the site uses the same.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "./source.js";

export type Link = { page: string; line: number; to: string };
/** The text of a page of the repository, or undefined if there is none. */
export type Read = (path: string) => string | undefined;

export const readPage: Read = (path) => {
  const file = join(root, path);
  return existsSync(file) && statSync(file).isFile() ? readFileSync(file, "utf8") : undefined;
};

const blank = (part: string) => part.replace(/[^\n]/g, " ");

export function withoutCode(text: string): string {
  return text.replace(/^(```+|~~~+)[^\n]*\n[\s\S]*?^\1/gm, blank).replace(/`[^`\n]*`/g, blank);
}

export function linksOf(page: string, text: string): Link[] {
  return withoutCode(text)
    .split("\n")
    .flatMap((line, index) =>
      [
        ...line.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g),
        ...line.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g),
      ].map(([, to]) => ({ page, line: index + 1, to: to! })),
    );
}

/** The anchor that GitHub gives to a heading. */
export function slug(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*]/g, "")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const lines = text.replace(/^(```+|~~~+)[^\n]*\n[\s\S]*?^\1/gm, blank).split("\n");
  for (const line of lines) {
    const [, heading] = /^#{1,6} +(.*?) *#*$/.exec(line) ?? [];
    if (heading === undefined) continue;
    const first = slug(heading);
    let anchor = first;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${first}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

const isOutside = (to: string) => /^[a-z][a-z+.-]*:/i.test(to);

/** The file that a link leads to, relative to the repository. */
export function targetOf({ page, to }: Link): string {
  const [path = ""] = to.split("#");
  return path === "" ? page : posix.join(posix.dirname(page), decodeURI(path));
}

/** What is wrong with a link, in words, or undefined. */
export function problemOf(link: Link, read: Read, exists: (path: string) => boolean): string | undefined {
  if (isOutside(link.to)) return undefined;
  const at = `${link.page}:${link.line} links to ${link.to}`;
  const target = targetOf(link);
  if (!exists(target)) return `${at}, but ${target} does not exist.`;
  if (link.page.startsWith("docs/") && !target.startsWith("docs/"))
    return `${at}, which is not part of the site. Write the path as code instead.`;
  const anchor = link.to.split("#")[1];
  if (anchor === undefined) return undefined;
  if (!anchorsOf(read(target) ?? "").has(decodeURIComponent(anchor)))
    return `${at}, but ${target} has no such heading.`;
  return undefined;
}

/** Pages that can be reached from a page by links. */
export function reachableFrom(start: string, read: Read): Set<string> {
  const reached = new Set([start]);
  for (const page of reached) {
    for (const link of linksOf(page, read(page) ?? "")) {
      const target = isOutside(link.to) ? undefined : targetOf(link);
      if (target?.endsWith(".md")) reached.add(target);
    }
  }
  return reached;
}
