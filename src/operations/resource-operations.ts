// Resources as every surface shows and changes them.

import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireResource } from "../contract/shapes.js";
import { Availability } from "../core/availability.js";
import type {
  HoldResourceCommand,
  RemoveResourceCommand,
  ReportUsageCommand,
  ResumeResourceCommand,
  SetResourceCommand,
} from "../core/command.js";
import { limits } from "../core/limits.js";
import { lackedByAll, laneMisfit, laneObstacles, type Who } from "../core/ready.js";
import { accept, assert } from "../core/refusal.js";
import {
  inUse,
  isHalfOpen,
  liveProbe,
  openHolds,
  periodAt,
  type Resource,
  resourceOf,
  resourcesOf,
  spentOf,
} from "../core/resource.js";
import { sessionShownMs } from "../core/session.js";
import { currentSpent } from "../core/transitions/take.js";
import type { Reads, View } from "../core/view.js";
import type { Executor } from "./execute.js";
import { type CommandCall, forCommand, forQuery } from "./handler.js";
import { liveWorkers } from "./live-workers.js";
import { iso, maybeIso, wireAttempt, wireOpenAttempt } from "./render.js";

function wireResource(view: View, resource: Resource, now: number, waiting: number): WireResource {
  const { id, capacity, budgets } = resource;
  const spent = spentOf(view, id);
  const holds = openHolds(resource, now);
  return {
    id,
    capacity,
    state:
      holds.length > 0
        ? "held"
        : isHalfOpen(resource, now) || liveProbe(resource, now)
          ? "half-open"
          : "open",
    holds: holds.map(({ until, at, ...hold }) => ({ ...hold, until: maybeIso(until), at: iso(at) })),
    budgets: budgets.map((budget) => ({
      ...budget,
      spent: currentSpent(spent, budget, now).spent,
      endsAt: maybeIso(periodAt(budget.period, now).end),
    })),
    spent: { usd: spent.usd, tokens: spent.tokens, minutes: spent.minutes },
    inUse: inUse(view, id).units,
    waiting,
    createdAt: iso(resource.createdAt),
  };
}

/** Ready tasks that lack each resource, by themselves or with every live session that fits them, of all projects. */
function waitingById(view: Reads, now: number): Map<string, number> {
  const waiting = new Map<string, number>();
  const resources = new Availability(view, now);
  for (const { id, settings, paused } of view.projects({ readableOnly: true })) {
    if (paused) continue;
    const workers = liveWorkers(view, id, now);
    for (const { lane, ready } of view.readyCounts(id, now)) {
      if (ready === 0) continue;
      const lackedBy = (who: Who | null) => laneObstacles(lane, { who, settings, resources });
      const fitting = () => workers.filter((who) => laneMisfit(lane, who, settings) === null);
      const own = lackedBy(null);
      const lacked = own.length > 0 ? own : lackedByAll(fitting(), lackedBy);
      for (const each of new Set(lacked.map((obstacle) => obstacle.id)))
        waiting.set(each, (waiting.get(each) ?? 0) + ready);
    }
  }
  return waiting;
}

/** In the transaction itself nothing is counted: who waits is seen in the list. */
const answer = (view: View, { id }: { id: string }, _command: unknown, now: number) => {
  const resource = resourceOf(view, id);
  assert(resource, `resource ${id} was just changed`);
  return { success: true as const, resource: wireResource(view, resource, now, 0) };
};

type Removed = OutputOf<OperationNamed<"resources.remove">>;

/** Live sessions are read first: no document counts them. */
async function remove(executor: Executor, call: CommandCall<"resources.remove">): Promise<Removed> {
  const { id } = call.input;
  const sessions = await executor.store.read(call.caller.org, (view, now) =>
    view
      .sessions({
        project: null,
        live: true,
        seenSince: now - sessionShownMs,
        limit: limits.openClaimsMax,
        readableOnly: true,
      })
      .filter(({ uses }) => uses !== null && Object.hasOwn(uses, id))
      .slice(0, limits.rowIdsMax)
      .map((session) => session.id),
  );
  return (await executor.transact(call, sessions)).answer;
}

export const resourceOperations = {
  "resources.set": forCommand("resources.set", {
    command: (input): SetResourceCommand => ({ type: "set-resource", ...input }),
    answer,
  }),
  "resources.list": forQuery("resources.list", {
    query: (view, _input, _context, now) => {
      const resources = resourcesOf(view);
      const waiting = resources.length > 0 ? waitingById(view, now) : new Map<string, number>();
      return accept({
        resources: resources.map((each) => wireResource(view, each, now, waiting.get(each.id) ?? 0)),
      });
    },
  }),
  "resources.hold": forCommand("resources.hold", {
    command: ({ project, source, ...input }, { caller }): HoldResourceCommand => ({
      type: "hold-resource",
      ...input,
      project: project ?? caller.project,
      source: source ?? (input.sessionId === undefined ? "manual" : "quota"),
    }),
    answer,
  }),
  "resources.resume": forCommand("resources.resume", {
    command: (input): ResumeResourceCommand => ({ type: "resume-resource", ...input }),
    answer,
  }),
  "resources.remove": forCommand("resources.remove", {
    run: remove,
    command: ({ id }, { candidates = [] }): RemoveResourceCommand => ({
      type: "remove-resource",
      id,
      sessions: [...candidates],
    }),
    answer: (_view, { id }) => ({ success: true, id }),
  }),
  "tasks.usage": forCommand("tasks.usage", {
    command: (input, { caller }): ReportUsageCommand => ({
      type: "report-usage",
      ...input,
      project: input.project ?? caller.project,
    }),
    answer: (view, { epoch }, { project, taskId }, now) => {
      const claim = view.claim(project, taskId);
      if (claim?.epoch === epoch) return { success: true, attempt: wireOpenAttempt(view, claim, now) };
      const attempt = view.attempt(project, taskId, epoch);
      assert(attempt, `attempt ${epoch} of task ${taskId} was just read`);
      return { success: true, attempt: wireAttempt(attempt) };
    },
  }),
};
