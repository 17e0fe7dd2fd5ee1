import { exactDuration } from "../../../contract/duration.js";
import type { WireProject } from "../../../contract/shapes.js";
import type { CommandGroup } from "../command.js";
import { type Context, given } from "../context.js";
import { durationMs } from "../durations.js";
import type { Display } from "../print/display.js";
import { fieldLines } from "../print/fields.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { ago } from "../print/time.js";
import { listFlags, usageError } from "../spec.js";

type Settings = WireProject["settings"];

/** `claim.defaultTtlMs`, `order`, …; each with its value. */
function flat(settings: Settings): [string, unknown][] {
  return Object.entries(settings).flatMap(([name, value]) =>
    typeof value === "object"
      ? Object.entries(value).map(([inner, each]): [string, unknown] => [`${name}.${inner}`, each])
      : [[name, value] as [string, unknown]],
  );
}

function shown(name: string, value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return "not set";
  // A list of words is broken to the width of the terminal.
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  return name.endsWith("Ms") ? exactDuration(Number(value)) : String(value);
}

/** A number without a unit is milliseconds, and was often meant as minutes. */
function leaseWarning({ id, isDefault, settings: { claim } }: WireProject): string | undefined {
  const { defaultTtlMs, minTtlMs, maxTtlMs } = claim;
  if (defaultTtlMs >= minTtlMs && defaultTtlMs <= maxTtlMs) return undefined;
  const side =
    defaultTtlMs < minTtlMs
      ? `below claim.minTtlMs (${exactDuration(minTtlMs)})`
      : `above claim.maxTtlMs (${exactDuration(maxTtlMs)})`;
  const lease = exactDuration(defaultTtlMs);
  const where = isDefault ? "" : ` --project ${id}`;
  return (
    `claim.defaultTtlMs is ${lease}, ${side}: claims without --ttl get a lease of ${lease}. ` +
    `A number without a unit is milliseconds. Run: dibs project set claim.defaultTtlMs 30m${where}`
  );
}

function projectPage({ id, settings, paused, isDefault, createdAt }: WireProject, display: Display): string {
  const head = [id, isDefault ? "(default)" : "", paused ? "(paused)" : ""].filter((each) => each !== "");
  const fields = flat(settings).map(([name, value]) => [name, shown(name, value)] as const);
  return `${display.paint(head.join(" "), "bold")}\n${fieldLines([["created", ago(createdAt, display.now)], ...fields], display)}`;
}

/** Settings that are paths or globs: a bare value is one of them, or several with commas. */
const lists = ["worktree.copy", "land.reviewPaths", "scopes.exclusive"];

/** Settings that cannot be written as a word. */
const examples: Record<string, string> = {
  uses: `dibs project set uses '{"ci": 1}'`,
  "worktree.setup": `dibs project set worktree.setup '["npm", "ci"]'`,
  "land.setup": `dibs project set land.setup '{"run": ["npm", "ci"], "paths": ["package-lock.json"]}'`,
  "land.checks": "dibs check add test -- npm test",
};

/** A number, a truth, a duration, JSON, or a word; empty: not set. A name that ends with Ms is the unit of a bare number. */
function typed(key: string, text: string): unknown {
  const isList = lists.includes(key);
  if (text === "") return isList ? [] : key === "uses" ? {} : null;
  if (/^[[{]/.test(text)) return json(key, text);
  // Not at the comma of a glob such as *.{js,ts}.
  if (isList) return text.split(/,(?![^{}]*\})/).filter((each) => each !== "");
  const example = examples[key];
  if (example !== undefined)
    throw usageError(`${key} must be a list or an object, not ${text}.`, `Run: ${example}`);
  if (text === "true" || text === "false") return text === "true";
  if (key.endsWith("Ms") && !/^\d+$/.test(text)) return durationMs(text, key);
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function json(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(
      `The value of ${key} is not valid JSON.`,
      `Usage: dibs project set ${key} '["npm", "ci"]'`,
    );
  }
}

/** `claim.defaultTtlMs 2000` as `{ claim: { defaultTtlMs: 2000 } }`. */
function patchOf(pairs: readonly (readonly [string, string])[]): Record<string, unknown> {
  const patch: Record<string, unknown> = Object.create(null);
  for (const [key, text] of pairs) {
    const [name = "", inner, more] = key.split(".");
    if (name === "" || inner === "" || more !== undefined) throw usageError(`Unknown setting '${key}'.`);
    if (inner === undefined) patch[name] = typed(key, text);
    else patch[name] = { ...(patch[name] as object), [inner]: typed(key, text) };
  }
  return { ...patch };
}

function pairsOf(words: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  const left = [...words];
  while (left.length > 0) {
    const key = left.shift()!;
    const at = key.indexOf("=");
    const value = at > 0 ? key.slice(at + 1) : left.shift();
    if (value === undefined) {
      throw usageError(`Missing value of ${key}.`, "Usage: dibs project set claim.defaultTtlMs 30m");
    }
    pairs.push([at > 0 ? key.slice(0, at) : key, value]);
  }
  return pairs;
}

const named = (context: Context) => given({ id: context.args[0] ?? context.text("project") });

/** Before it is stored. In another repository, and through a server, the runner finds it before it copies. */
async function refuseCopies(
  context: Context,
  settings: Record<string, unknown>,
  land: Settings["land"] | null,
) {
  const { copy } = (settings.worktree ?? {}) as { copy?: unknown };
  if (!Array.isArray(copy) || copy.length === 0 || !copy.every((each) => typeof each === "string")) return;
  const { refuseCopyInto } = await import("../repository.js");
  await refuseCopyInto(context.parts.cwd, copy, land);
}

/** The setting is the store's, and can come before the branch; here it can be looked at. */
async function warnOfMissingTarget({ parts }: Context, land: Settings["land"]): Promise<void> {
  const { missingTarget } = await import("../repository.js");
  const target = await missingTarget(parts.cwd, land);
  if (target === null) return;
  const branch = plain(target);
  parts.err(`dibs: Branch ${branch} does not exist in this repository. Run: git branch ${branch}\n`);
}

async function set(context: Context): Promise<void> {
  const { paused, ...settings } = patchOf(pairsOf(context.args));
  const dibs = await context.dibs();
  if (settings.worktree) {
    const { project } = await dibs.projects.get(given({ id: context.text("project") }));
    await refuseCopies(context, settings, project.settings.land);
  }
  const answer = await dibs.projects.update(
    given({
      id: context.text("project"),
      settings: Object.keys(settings).length > 0 ? (settings as never) : undefined,
      paused: paused as boolean | undefined,
    }),
  );
  const keys = pairsOf(context.args).map(([key]) => key);
  if (keys.includes("land.target")) await warnOfMissingTarget(context, answer.project.settings.land);
  context.say(answer, (display) => {
    const values = flat(answer.project.settings).filter(([name]) => keys.includes(name));
    const state = keys.includes("paused") ? [["paused", String(answer.project.paused)] as const] : [];
    return fieldLines(
      [...values.map(([name, value]) => [name, shown(name, value)] as const), ...state],
      display,
    );
  });
  warnOfLease(context, keys, answer.project);
}

/** Only where the lease was set. */
function warnOfLease({ parts }: Context, keys: readonly string[], project: WireProject): void {
  if (!keys.some((key) => key === "claim" || key.startsWith("claim."))) return;
  const warning = leaseWarning(project);
  if (warning !== undefined) parts.err(`dibs: ${warning}\n`);
}

export const commands: Record<string, CommandGroup> = {
  project: {
    name: "project",
    summary: "Create, list and configure projects",
    details:
      "A project is a task list with its own settings. Settings are in the store and apply to all its users.",
    parts: {
      list: {
        name: "project list",
        reads: true,
        summary: "list projects",
        flags: {
          limit: listFlags.limit,
          cursor: listFlags.cursor,
        },
        examples: ["dibs project list"],
        async run(context) {
          const answer = await (await context.dibs()).projects.list(
            given({ limit: context.number("limit"), cursor: context.text("cursor") }),
          );
          context.say(answer, (display) =>
            table(
              answer.projects,
              [
                { head: "PROJECT", of: ({ id }) => plain(id), grows: true },
                { head: "", of: ({ isDefault }) => (isDefault ? "default" : "") },
                { head: "STATE", of: ({ paused }) => (paused ? "paused" : "open") },
                { head: "ORDER", of: ({ settings }) => settings.order },
                { head: "LEASE", of: ({ settings }) => exactDuration(settings.claim.defaultTtlMs) },
                { head: "CREATED", of: ({ createdAt }) => ago(createdAt, display.now) },
              ],
              display,
            ),
          );
        },
      },
      show: {
        name: "project show",
        reads: true,
        args: "[project]",
        summary: "show a project and its settings",
        examples: ["dibs project show", "dibs project show docs"],
        async run(context) {
          const answer = await (await context.dibs()).projects.get(named(context));
          context.say(answer, (display) => projectPage(answer.project, display));
        },
      },
      create: {
        name: "project create",
        args: "<project> [settings...]",
        summary: "create a project, with optional settings",
        exits: { 1: "the project exists" },
        examples: ["dibs project create docs", "dibs project create docs order=depth-first maxRetries=1"],
        async run(context) {
          const [id = "", ...words] = context.args;
          const settings = patchOf(pairsOf(words));
          await refuseCopies(context, settings, null);
          const dibs = await context.dibs();
          const answer = await dibs.projects.create({
            id,
            ...(words.length > 0 ? { settings: settings as never } : {}),
          });
          context.say(answer, () => `created project ${plain(answer.project.id)}`);
          warnOfLease(
            context,
            pairsOf(words).map(([key]) => key),
            answer.project,
          );
        },
      },
      set: {
        name: "project set",
        args: "<key> [value...]",
        summary: "change settings; several pairs are one change",
        details: "Durations have a unit: 30s, 5m, 2h. Run: dibs project show",
        examples: [
          "dibs project set claim.defaultTtlMs 45m",
          "dibs project set claim.minTtlMs 1s claim.defaultTtlMs 2s",
          "dibs project set order depth-first --project docs",
        ],
        exits: { 1: "land.target would change while tasks are submitted" },
        run: set,
      },
      pause: {
        name: "project pause",
        args: "[project]",
        summary: "pause a project: its tasks cannot be claimed",
        examples: ["dibs project pause docs"],
        async run(context) {
          const answer = await (await context.dibs()).projects.pause(named(context));
          context.say(answer, () => `paused ${plain(answer.project.id)}: its tasks cannot be claimed`);
        },
      },
      resume: {
        name: "project resume",
        args: "[project]",
        summary: "resume a paused project",
        examples: ["dibs project resume docs"],
        async run(context) {
          const answer = await (await context.dibs()).projects.resume(named(context));
          context.say(answer, () => `resumed ${plain(answer.project.id)}`);
        },
      },
    },
  },
};
