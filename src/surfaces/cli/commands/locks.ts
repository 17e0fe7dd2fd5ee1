import type { WireLock } from "../../../contract/shapes.js";
import type { CommandGroup } from "../command.js";
import { type Context, given } from "../context.js";
import type { Display } from "../print/display.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { ago, span } from "../print/time.js";
import { type FlagSpec, usageError } from "../spec.js";

const pidFlag: FlagSpec = {
  value: "<pid>",
  help: "process that holds the lock; default: the caller of dibs, such as a script",
};

/**
 * Whose lock it is: a process, for as long as it lives. By default the caller's, so that a script holds what it acquires until it
 * ends. A session with a lease instead where a session and no process is named.
 */
async function holderOf(context: Context) {
  const pid = context.number("pid");
  const sessionId = context.asSession;
  if (pid === undefined && context.text("session") !== undefined) return { sessionId };
  if (pid === undefined && isShortLived(context)) {
    throw usageError(
      "npx ends before the lock is used, so it cannot hold it.",
      "Add the process that holds the lock: --pid $$",
    );
  }
  const process = await context.parts.processOf(pid ?? context.parts.parentPid);
  return { ...process, ...given({ sessionId }) };
}

/** A dead process holds nothing: what it acquired would be free the next moment. */
async function livingHolder(context: Context) {
  const holder = await holderOf(context);
  if ("pid" in holder && (await context.parts.health.isGone(holder))) {
    throw usageError(
      `Process ${holder.pid} not found on this machine, so it cannot hold a lock.`,
      "Use --pid $$ for the calling shell, or --session <name> --ttl 10m for a lease without a process.",
    );
  }
  return holder;
}

/** Which machine this is, as locks name it. */
const hereOf = async ({ parts }: Context) => (await parts.machine()).hostId;

const isShortLived = ({ parts }: Context) => parts.env.npm_command === "exec";

function whoHolds({ pid, sessionId, expiresAt, host }: WireLock, display: Display, here: string): string {
  const who = [
    pid === null ? "" : `process ${pid}`,
    sessionId === null ? "" : `session ${plain(sessionId)}`,
  ].filter((each) => each !== "");
  const until =
    expiresAt === null ? "until it ends" : `for ${span(Date.parse(expiresAt) - display.now)} more`;
  const where = pid !== null && host !== null && host !== here ? " elsewhere" : "";
  return `${who.join(", ") || "unknown"}${where}, ${until}`;
}

export const commands: Record<string, CommandGroup> = {
  lock: {
    name: "lock",
    summary: "Acquire, release and list named locks",
    details:
      "For scripts that must not run twice at the same time. A lock ends with its process; one of another machine has a lease.",
    parts: {
      acquire: {
        name: "lock acquire",
        args: "<name>",
        summary: "acquire or renew a lock",
        flags: {
          pid: pidFlag,
          ttl: { value: "<duration>", help: "lease duration; the lock expires unless it is renewed" },
          metadata: { value: "<json>", help: "JSON object to store with the lock" },
        },
        exits: { 1: "held by another process or session" },
        examples: ["dibs lock acquire deploy || exit 1", "dibs lock acquire deploy --pid $$ --ttl 10m"],
        async run(context) {
          const answer = await (await context.dibs()).locks.acquire({
            name: context.args[0]!,
            ...(await livingHolder(context)),
            ...given({ ttlMs: context.duration("ttl"), metadata: context.json("metadata") as never }),
          });
          const here = await hereOf(context);
          context.say(
            answer,
            (display) => `acquired ${plain(answer.lock.name)}: ${whoHolds(answer.lock, display, here)}`,
          );
        },
      },
      release: {
        name: "lock release",
        args: "<name>",
        summary: "release a lock",
        flags: { pid: pidFlag, force: { help: "release the lock of any holder" } },
        exits: { 1: "held by another process or session" },
        examples: ["dibs lock release deploy", "dibs lock release deploy --force"],
        async run(context) {
          const name = context.args[0]!;
          const by = context.on("force") ? { force: true } : await holderOf(context);
          const answer = await (await context.dibs()).locks.release({ name, ...by });
          context.say(answer, () => `${answer.released ? "released" : "was free:"} ${plain(name)}`);
        },
      },
      status: {
        name: "lock status",
        reads: true,
        args: "<name>",
        summary: "show the holder of a lock",
        exits: { 0: "success, whether the lock is held or not" },
        examples: ["dibs lock status deploy"],
        async run(context) {
          const name = context.args[0]!;
          const answer = await (await context.dibs()).locks.get({ name });
          const here = await hereOf(context);
          context.say(answer, (display) =>
            answer.lock
              ? `${plain(name)} is held by ${whoHolds(answer.lock, display, here)}; acquired ${ago(answer.lock.acquiredAt, display.now)}`
              : `${plain(name)} is free`,
          );
        },
      },
      list: {
        name: "lock list",
        reads: true,
        summary: "list held locks",
        examples: ["dibs lock list"],
        async run(context) {
          const answer = await (await context.dibs()).locks.list({ limit: 1000 });
          const here = await hereOf(context);
          context.say(answer, (display) =>
            answer.locks.length === 0
              ? "No locks are held."
              : table(
                  answer.locks,
                  [
                    { head: "LOCK", of: ({ name }) => plain(name), max: 32 },
                    { head: "HELD BY", of: (lock) => whoHolds(lock, display, here), grows: true },
                    { head: "SINCE", of: ({ acquiredAt }) => ago(acquiredAt, display.now) },
                  ],
                  display,
                ),
          );
        },
      },
    },
  },
};
