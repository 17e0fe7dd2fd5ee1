// The words for refusals of bad input: a world with something in it, a call, the code and what the message must name.

import { describe, expect, test } from "vitest";
import type { Dibs } from "../../src/index.js";
import { open, openStore, readEverything, refusalOf, tempFile } from "./support.js";

interface Held {
  dibs: Dibs;
  /** Held by session `me` at epoch 1. */
  held: string;
  queued: string;
  /** A child of `queued`. */
  child: string;
}

export type Case = [what: string, call: (world: Held) => Promise<unknown>, code: string, message: RegExp];

/** What TypeScript would not let through. */
// biome-ignore lint/suspicious/noExplicitAny: that is the point.
export const wrong = (value: unknown) => value as any;
export const me = { sessionId: "me", epoch: 1 };
export const long = (length: number) => "x".repeat(length);

async function world() {
  const path = tempFile();
  const dibs = await open({ path });
  await dibs.projects.create({ id: "second" });
  const held = (await dibs.tasks.create({ prompt: "held" })).task.id;
  const queued = (await dibs.tasks.create({ prompt: "queued" })).task.id;
  const child = (await dibs.tasks.create({ prompt: "child", parentId: queued })).task.id;
  await dibs.sessions.register({ id: "me" });
  await dibs.sessions.register({ id: "you" });
  await dibs.tasks.claim({ taskId: held, sessionId: "me" });
  return { path, dibs, held, queued, child };
}

/** Each case must be refused by name, with nothing written. */
export function refusals(about: string, cases: Case[]): void {
  describe(`${about}: refused by name, nothing written:`, () => {
    test.each(cases)("%s", async (_what, call, code, message) => {
      const { path, ...held } = await world();
      const store = await openStore(path);
      const before = await readEverything(store);
      // A synchronous throw is a refusal too, though not how the library says it.
      const refusal = await refusalOf(call(held));
      expect(refusal.code).toMatch(new RegExp(`^(${code})$`));
      expect(refusal.message).toMatch(message);
      expect(await readEverything(store)).toEqual(before);
      // The next id shows that no counter moved either.
      expect((await held.dibs.tasks.create({ prompt: "next" })).task.id).toBe("0003");
    });
  });
}
