// Jobs as the operations make them: a command, with or without an idempotency key, once or twice, or a look around.

import { noChanges } from "../../src/core/changes.js";
import type { Command } from "../../src/core/command.js";
import { carryOut } from "../../src/core/decide.js";
import { limits } from "../../src/core/limits.js";
import type { Outcome } from "../../src/core/refusal.js";
import type { Reads } from "../../src/core/view.js";
import type { Transaction } from "../../src/store/store.js";
import { commandOf } from "./commands.js";
import { archivingOf, type DocumentWork, documentsOf, workOn } from "./documents.js";
import { lookAtRows } from "./looking.js";
import { Picker } from "./picker.js";
import { all } from "./scene.js";
import type { Op } from "./script.js";

export type Plan =
  | { do: "command"; command: Command; key?: string; twice?: boolean }
  | { do: "look"; ids: { project: string; id: string }[] }
  | ({ do: "documents" } & DocumentWork)
  | { do: "archive"; below: number };

/** Carries out one command; the ledger passes its own way of doing so. */
export type Carry = (transaction: Transaction, command: Command) => Outcome<unknown>;

export const carry: Carry = (transaction, command) => carryOut(transaction, command, "user:test");

const repeatable = new Set(["complete", "fail", "release"]);

/** The memory store has lists inside commits, too: jobs are chosen, and their effects checked, by them. */
export const modelView = ({ view }: Transaction): Reads => view as Reads;

export interface Seen {
  view: Reads;
  now: number;
}

/** Chooses what the job does, by what it sees. */
export function planOf(op: Op, { view, now }: Seen, history: readonly Plan[]): Plan {
  const pick = new Picker(op.picks);
  const tasks = view.tasks({ project: null, afterOrdinal: 0, limit: all });
  const look: Plan = { do: "look", ids: tasks.slice(-30).map(({ project, id }) => ({ project, id })) };
  if (op.word === "look") return look;
  if (op.word === "documents") return { do: "documents", ...documentsOf(pick) };
  if (op.word === "archive") return { do: "archive", below: archivingOf(pick, view.org()) };
  if (op.word === "repeat") {
    const commands = history.filter((plan) => plan.do === "command");
    const isAct = pick.chance(60);
    const acts = commands.filter(({ command }) => !isAct || repeatable.has(command.type)).slice(-8);
    return acts.length > 0 ? pick.of(acts) : look;
  }
  const command = commandOf(op.word, pick, view, now);
  const key = pick.maybe(15, () => `key-${pick.below(5)}`);
  const twice = repeatable.has(command.type) && pick.chance(40);
  return { do: "command", command, ...(key ? { key } : {}), ...(twice ? { twice } : {}) };
}

export function perform(transaction: Transaction, plan: Plan, how: Carry = carry): unknown {
  const { view, now } = transaction;
  if (plan.do === "look") return lookAtRows(view, now, plan.ids);
  if (plan.do === "documents") return workOn(transaction, plan);
  if (plan.do === "archive") {
    const org = { ...view.org(), eventMin: plan.below };
    transaction.apply({ ...noChanges(), org });
    return view.org();
  }
  const first = once(transaction, plan, how);
  return plan.twice ? [first, how(transaction, plan.command)] : [first];
}

function once(transaction: Transaction, plan: Extract<Plan, { do: "command" }>, how: Carry) {
  const { command, key } = plan;
  if (key === undefined) return how(transaction, command);
  const request = JSON.stringify(command);
  const before = transaction.view.idempotency(key);
  if (before && Math.abs(transaction.now - before.createdAt) < limits.idempotencyMs) {
    if (before.request !== request) return { ok: false, code: "IDEMPOTENCY_MISMATCH" };
    return { ok: true, replayed: JSON.parse(before.answer) };
  }
  const outcome = how(transaction, command);
  if (!outcome.ok) return outcome;
  const answer = JSON.stringify(outcome.value);
  transaction.apply({ ...noChanges(), idempotency: { key, request, answer, createdAt: transaction.now } });
  return outcome;
}
