// set, hold, resume, remove: what an org shares, and who stops it for a while.

import type {
  HoldResourceCommand,
  RemoveResourceCommand,
  ResumeResourceCommand,
  SetResourceCommand,
} from "../command.js";
import type { Draft } from "../draft.js";
import { idProblem } from "../ids.js";
import { limits, workerHoldMs } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import {
  type Budget,
  dropResource,
  inUse,
  pauseMs,
  projectUses,
  putResource,
  putSpent,
  type Resource,
  type ResourceHold,
  resourceNotFound,
  resourceOf,
  resourcesOf,
  spentOf,
  sumOfUses,
  withoutPauses,
} from "../resource.js";
import { isLive } from "../session.js";
import { sessionNotFound } from "./holder.js";
import { currentSpent, emitChanged, enforceBudgets } from "./take.js";

const invalid = (path: string, message: string, hint?: string): Refusal =>
  refuse("VALIDATION_FAILED", message, {
    ...(hint ? { hint } : {}),
    details: { issues: [{ path, message }] },
  });

/** Creates it, or changes what is given. */
export function setResource(draft: Draft, command: SetResourceCommand): Outcome<{ id: string }> {
  const { id } = command;
  const problem = idProblem(id);
  if (problem) return invalid("id", `Resource id '${id.slice(0, 200)}' ${problem}.`);
  const known = resourceOf(draft, id);
  if (!known && resourcesOf(draft).length >= limits.resourcesMax) {
    return invalid(
      "id",
      `An org has at most ${limits.resourcesMax} resources.`,
      "Run: dibs resource remove <id>",
    );
  }
  const budgets = command.budgets ?? known?.budgets ?? [];
  const twice = budgetTwice(budgets);
  if (twice) return invalid("budgets", `There are two budgets of ${twice.unit} per ${twice.period}.`);
  const resource: Resource = {
    id,
    capacity: command.capacity === undefined ? (known?.capacity ?? null) : command.capacity,
    budgets,
    holds: known?.holds ?? [],
    probe: known?.probe ?? null,
    ...(known?.pauses ? { pauses: known.pauses } : {}),
    createdAt: known?.createdAt ?? draft.now,
  };
  putResource(draft, resource);
  if (command.budgets) {
    const spent = spentOf(draft, id);
    const before = known?.budgets ?? [];
    const current = budgets.map((budget) => {
      const now = currentSpent(spent, budget, draft.now);
      const isSame = before.some(
        ({ unit, period, amount }) =>
          unit === budget.unit && period === budget.period && amount === budget.amount,
      );
      // Another amount counts again, also where the old one was waived.
      return isSame
        ? now
        : { ...now, isWaived: false, isNoticed: now.isNoticed && now.spent >= budget.amount };
    });
    putSpent(draft, id, { ...spent, budgets: current });
    enforceBudgets(draft, id, draft.org().defaultProject);
  }
  emitChanged(draft, id, known ? "set" : "created");
  return accept({ id });
}

function budgetTwice(budgets: readonly Budget[]): Budget | undefined {
  return budgets.find(({ unit, period }, at) =>
    budgets.slice(0, at).some((other) => other.unit === unit && other.period === period),
  );
}

/** Nothing is granted with it until the hold ends; what runs goes on. A hold of the same source is replaced. */
export function holdResource(draft: Draft, command: HoldResourceCommand): Outcome<{ id: string }> {
  const { id, source, reason = null } = command;
  const resource = resourceOf(draft, id);
  if (!resource) return resourceNotFound(id);
  const before = resource.holds.find((each) => each.source === source);
  const pauses = resource.pauses ?? 0;
  const isPause =
    source === "quota" && command.sessionId !== undefined && (command.until ?? command.forMs) === undefined;
  const asked = command.forMs === undefined ? (command.until ?? null) : draft.now + command.forMs;
  const until = isPause ? draft.now + pauseMs(pauses) : asked;
  if (until !== null && until <= draft.now)
    return invalid("until", "until must be in the future.", `Run: dibs resource resume ${id}`);
  const notAllowed = command.sessionId === undefined ? null : workerProblem(draft, command, until);
  if (notAllowed) return notAllowed;
  // Many workers run into one limit: none of them shortens what another has found, and all of them are one pause.
  if (command.sessionId !== undefined && before && isLonger(before, isPause ? draft.now + 1 : until))
    return accept({ id });
  const hold: ResourceHold = { source, until, reason, by: draft.context.actor, at: draft.now };
  const others = resource.holds.filter((each) => each !== before);
  const count = isPause ? { pauses: pauses + 1 } : {};
  putResource(draft, { ...resource, holds: [...others, hold], ...count });
  emitChanged(draft, id, "held", { source, until });
  return accept({ id });
}

const isLonger = (hold: ResourceHold, until: number | null) =>
  hold.until === null || (until !== null && hold.until >= until);

/** A worker stops only what it uses itself, and not for long. */
function workerProblem(draft: Draft, command: HoldResourceCommand, until: number | null): Refusal | null {
  const { id, project, sessionId = "" } = command;
  const session = draft.session(project, sessionId);
  if (!isLive(session)) return sessionNotFound(sessionId);
  const held = draft.view.claimsOf(project, sessionId).map(({ uses }) => uses);
  const uses = [projectUses(draft.project(project)), ...held].reduce(sumOfUses, session.uses);
  if (!uses || !Object.hasOwn(uses, id)) {
    return refuse("FORBIDDEN", `Session ${sessionId} does not use resource ${id}, so it cannot hold it.`, {
      hint: "A leader can hold any resource.",
      details: { resource: id, sessionId },
    });
  }
  if (until !== null && until <= draft.now + workerHoldMs) return null;
  return invalid(
    "until",
    "A worker can hold a resource for at most 6 hours.",
    "A leader can hold it for longer.",
  );
}

export function resumeResource(draft: Draft, command: ResumeResourceCommand): Outcome<{ id: string }> {
  const { id, source } = command;
  const resource = resourceOf(draft, id);
  if (!resource) return resourceNotFound(id);
  const isMeant = (hold: ResourceHold) => source === undefined || hold.source === source;
  const ended = resource.holds.filter(isMeant);
  if (ended.some((hold) => hold.source === "budget")) waiveBudgets(draft, resource);
  const probe = source === undefined ? null : resource.probe;
  if (ended.length === 0 && probe === resource.probe) return accept({ id });
  const holds = resource.holds.filter((hold) => !isMeant(hold));
  putResource(draft, { ...withoutPauses(resource), holds, probe });
  emitChanged(draft, id, "resumed", source === undefined ? {} : { source });
  return accept({ id });
}

/** What is spent holds nothing any more in this period: a person has said so. */
function waiveBudgets(draft: Draft, { id, budgets }: Resource): void {
  const spent = spentOf(draft, id);
  const waived = budgets.map((budget) => {
    const current = currentSpent(spent, budget, draft.now);
    return current.spent >= budget.amount ? { ...current, isWaived: true } : current;
  });
  putSpent(draft, id, { ...spent, budgets: waived });
}

export function removeResource(draft: Draft, command: RemoveResourceCommand): Outcome<{ id: string }> {
  const { id, sessions } = command;
  if (!resourceOf(draft, id)) return resourceNotFound(id);
  const { units, named } = inUse(draft, id);
  if (units > 0 || named > 0 || sessions.length > 0) {
    const places = [
      units > 0 ? "a claim" : null,
      named > 0 ? `${named} open ${named === 1 ? "task or project" : "tasks or projects"}` : null,
      sessions.length > 0 ? `live session ${sessions[0]}` : null,
    ].filter((each) => each !== null);
    return refuse("RESOURCE_IN_USE", `Resource ${id} is in use by ${places.join(", ")}.`, {
      hint: `Run: dibs resource hold ${id}`,
      details: { resource: id, units, named, sessions: sessions.slice(0, limits.rowIdsMax) },
    });
  }
  dropResource(draft, id);
  putSpent(draft, id, null);
  emitChanged(draft, id, "removed");
  return accept({ id });
}
