// The words that Dibs does not use in texts for people, what to write instead, and where texts are found.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { lineOf, parse, root, type Source, walk } from "./source.js";

export type Rule = { pattern: RegExp; instead: string };
export type Text = { path: string; line: number; text: string };

export const rules: Rule[] = [
  { pattern: /\b(told|tells|telling)\b/i, instead: "reported, printed, logged, shown" },
  {
    // "is over HTTP" and "are over 5 MB" are fine.
    pattern: /\b(is|are|was|were|be|lease) (already |just )?over\b(?! (HTTP\b|stdio\b|the\b|a\b|\d))/i,
    instead: "expired, ended, finished",
  },
  { pattern: /\bfor ever\b/i, instead: "indefinitely" },
  { pattern: /\b(leave|leaves|left)( \w+){0,3} away\b/i, instead: "omit, remove" },
  { pattern: /\bmend(s|ed|ing)?\b/i, instead: "fix" },
  { pattern: /\banew\b/i, instead: "again" },
  { pattern: /\b(make|makes|made|making)\b/i, instead: "create, or the concrete verb" },
  { pattern: /\b(stands?|stood|lies|lying)\b/i, instead: "is" },
  { pattern: /\bbeside\b/i, instead: "next to" },
  { pattern: /\b(go|goes|going|went) on\b/i, instead: "continue" },
  { pattern: /\bmay\b/, instead: "can, might, is allowed to" },
  { pattern: /\bshall\b/i, instead: "must, should" },
  { pattern: /\bKnown are\b/i, instead: "Supported: …" },
  { pattern: /\bwho waits? for\b/i, instead: "dependents" },
  { pattern: /\blookers?-on\b/i, instead: "read-only users" },
  {
    pattern: /\b(nobody|somebody|whoever)\b/i,
    instead: "the subject by name: no session, another process, the next claim",
  },
  { pattern: /(^|[.:;] )Who [^?]*$/, instead: "the subject by name: the session that …" },
  { pattern: /\bwho (acts|calls)\b/i, instead: "agent, caller" },
  { pattern: /\b(s0|s2|seeds?)\b/i, instead: "camel, pascal; nothing that only maintainers know" },
  { pattern: /\bthe document\b/i, instead: "the thing by name: the plan, the specification" },
  { pattern: /\bpending\b/i, instead: "ready, queued" },
  { pattern: /\bavailable (tasks?|work)\b|\btasks? (is|are) available\b/i, instead: "ready" },
  { pattern: /\bfree (tasks?|work)\b|\b(tasks?|claims?) (is|are) free\b/i, instead: "ready" },
  {
    pattern: /\b(child|children)\b(?! process)|\b(its|open|new|your|their|unfinished) parts\b/i,
    instead: "subtask",
  },
  { pattern: /\brespond(s|ed|ing)?\b/i, instead: "answer" },
  { pattern: /\btroubles?\b/i, instead: "problem, error, failure" },
  { pattern: /\b(hear|hears|heard)\b/i, instead: "receives; last seen" },
  { pattern: /\bin hand\b/i, instead: "holds, works on" },
  { pattern: /\bto be had\b|\bbe had\b/i, instead: "not found, not reachable" },
  { pattern: /\bby and by\b|\bnow and then\b/i, instead: "the interval" },
];

/** One line per use of a word that is not ours: where, what, and what to write instead. */
export function badWords(texts: Text[], allowed: ReadonlySet<string> = new Set()): string[] {
  return texts.flatMap(({ path, line, text }) =>
    rules.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(text);
      if (!found || allowed.has(`${path}: ${found[0].toLowerCase()}`)) return [];
      return [
        `${path}:${line}: "${found[0].trim().slice(0, 40)}" → ${instead}\n    ${text.replace(/\s+/g, " ").trim()}`,
      ];
    }),
  );
}

/** A Markdown page with blanks in place of code, addresses and what is generated from code. */
export function inProse(page: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, " ");
  return page
    .replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1/gm, blank)
    .replace(/<!-- generated: [\s\S]*?<!-- end: /g, blank)
    .replace(/^ {4,}[^\s*\d-].*$/gm, blank)
    .replace(/`[^`\n]*`/g, blank)
    .replace(/\]\([^)\n]*\)/g, blank);
}

export function markdownTexts(path: string): Text[] {
  const prose = inProse(readFileSync(join(root, path), "utf8")).split("\n");
  return prose.map((text, index) => ({ path, line: index + 1, text }));
}

/** What a command printed: all lines but those that were typed. */
export function printedTexts(path: string): Text[] {
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  return lines.flatMap((text, index) => (text.startsWith("$ ") ? [] : [{ path, line: index + 1, text }]));
}

/** Texts for people in a program: literals and JSX text of two words or more, without code spans. */
export function programTexts(source: Source): Text[] {
  const texts: Text[] = [];
  walk(parse(source), (node) => {
    const written = literalText(node);
    if (written === undefined || !/[a-z,.:] +["'“]?[a-z]/i.test(written) || isMarkup(node)) return;
    const text = written.replace(/`[^`\n]*`/g, " ").replace(/\s+/g, " ");
    texts.push({ path: source.path, line: lineOf(node), text });
  });
  return texts;
}

function literalText(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isJsxText(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
}

const notProse = /^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH|PRAGMA|DROP|SET|:root)\b/;

/** Class names, style sheets and SQL are no texts for people. */
function isMarkup(node: ts.Node): boolean {
  if (notProse.test(literalText(node) ?? "")) return true;
  const { parent } = node;
  return ts.isJsxAttribute(parent) && /^(className|d|viewBox|style)$/.test(parent.name.getText());
}
