// From a word and its numbers to a command: references are chosen from what exists, so that most commands meet a task or a
// session in an interesting state, and some meet none, a stale one or somebody else's.

import type { Attempt, Claim } from "../../src/core/claim.js";
import type { ByHolder, Command } from "../../src/core/command.js";
import { type LandingTask, leaseOf } from "../../src/core/landing.js";
import type { Session } from "../../src/core/session.js";
import { stateOf, type Task } from "../../src/core/task.js";
import type { Reads } from "../../src/core/view.js";
import { newTask, newTasks, planTasks, resourceIds, sameTasks, someUses, taskPatch } from "./inputs.js";
import { type Picker, present } from "./picker.js";
import { all, type Scene, sceneOf, sessionIds, taskLike } from "./scene.js";
import { projectSettings, sessionInput } from "./settings.js";

function anySession(pick: Picker): string {
  return pick.chance(4) ? "nobody" : pick.of(sessionIds);
}

function holder(pick: Picker, scene: Scene, like: (claim: Claim) => boolean = () => true): ByHolder {
  const on = { project: scene.project };
  const kind = pick.below(100);
  const open = scene.claims.filter(like);
  const claim = kind < 75 ? pick.of(open.length > 0 ? open : scene.claims) : undefined;
  if (claim) {
    const sessionId = pick.chance(10) ? anySession(pick) : claim.sessionId;
    const epoch = pick.of([claim.epoch, claim.epoch, claim.epoch, undefined, undefined, claim.epoch - 1]);
    return present({ ...on, taskId: claim.taskId, sessionId, epoch });
  }
  const attempt = kind < 92 ? closedAttempt(pick, scene) : undefined;
  if (attempt) {
    const epoch = pick.of([attempt.epoch, attempt.epoch, undefined, attempt.epoch + 1]);
    return present({ ...on, taskId: attempt.taskId, sessionId: attempt.sessionId, epoch });
  }
  const taskId = taskLike(pick, scene, (task) => task.epoch > 0);
  return present({ ...on, taskId, sessionId: anySession(pick), epoch: pick.of([undefined, 1, 2]) });
}

function closedAttempt(pick: Picker, { view, tasks, project }: Scene): Attempt | undefined {
  const tried = tasks.filter((task) => task.epoch > 0);
  const task = tried.length > 0 ? pick.of(tried) : undefined;
  return task && pick.of(view.attempts(project, task.id, 3));
}

const ttls = [undefined, undefined, undefined, 5000, undefined, 1000, 60_000, 10];

function claimOptions(pick: Picker, scene: Scene) {
  const registered = scene.view.sessions({ project: scene.project, live: true, limit: all });
  const isFree = ({ id }: Session) => scene.claims.every(({ sessionId }) => sessionId !== id);
  const free = registered.filter(isFree);
  const sessions = pick.chance(35) ? registered : free;
  return present({
    project: scene.project,
    sessionId: sessions.length > 0 && !pick.chance(10) ? pick.of(sessions).id : anySession(pick),
    ttlMs: pick.of(ttls),
    start: pick.of([undefined, true, false]),
    register: pick.maybe(50, () => pick.of([{}, { pid: 7, host: "h1" }, { capacity: 2 }])),
    agentType: pick.maybe(8, () => pick.of(["cli", "autonomous"])),
    metadata: pick.maybe(8, () => ({ branch: "main" })),
  });
}

const result = (pick: Picker) => {
  const output = pick.of(["done", "", "ünï — 日本 🎉"]);
  return {
    output,
    filesCreated: pick.some(["a.ts", "b.ts"], 2),
    filesModified: [],
    ...(output === "done" ? { branch: "dibs/0001", commit: "4f1c2e7".padEnd(40, "0") } : {}),
  };
};
const spread = (pick: Picker) => pick.of([0, -1, 1, 0.5]);
const isOpen = (state: string) => !["completed", "failed", "cancelled"].includes(state);

const place = (pick: Picker) => ({
  repository: "root",
  target: pick.chance(10) ? "next" : "main",
});

const submittedTask = (pick: Picker, scene: Scene) => ({
  project: scene.project,
  taskId: taskLike(pick, scene, ({ state }) => state === "submitted"),
});

function lastSubmission(pick: Picker, scene: Scene) {
  const on = submittedTask(pick, scene);
  const number = scene.view.task(on.project, on.taskId)?.submission?.number ?? 1;
  return { ...on, submission: pick.chance(10) ? pick.of([1, 2]) : number };
}

function leaseEpoch(pick: Picker, { view }: Scene): number {
  const epoch = leaseOf(view, { repository: "root", target: "main" })?.epoch ?? 1;
  return pick.chance(10) ? epoch - 1 : epoch;
}

function onLanding(pick: Picker, scene: Scene): { id: string; epoch: number } {
  const open = leaseOf(scene.view, { repository: "root", target: "main" })?.landing;
  return {
    id: open && !pick.chance(10) ? open : pick.of(["L1", "L2", "L3", "x"]),
    epoch: leaseEpoch(pick, scene),
  };
}

function landingTasks(pick: Picker, scene: Scene): LandingTask[] {
  const waiting = scene.tasks.filter(({ state }) => state === "submitted" || pick.chance(3));
  return pick.some(waiting, 3).map(({ project, id: taskId, submission }) => ({
    project,
    taskId,
    submission: pick.chance(5) ? 1 : (submission?.number ?? 1),
    commit: submission?.commit === null ? null : "c9",
  }));
}

type Made = { [T in Command["type"]]?: (pick: Picker, scene: Scene) => Command };

const made: Made & Record<"create-many", (pick: Picker, scene: Scene) => Command> = {
  create: (pick, scene) => ({
    type: "create",
    project: scene.project,
    correlationId: "c",
    tasks: pick.chance(40) ? newTasks(pick, scene) : [newTask(pick, scene, [])],
  }),
  "create-many": (pick, scene) => ({
    type: "create",
    project: scene.project,
    correlationId: "c",
    tasks: sameTasks(pick, scene),
  }),
  "load-plan": (pick, scene) => ({
    type: "load-plan",
    project: scene.project,
    correlationId: "c",
    plan: pick.of(["plan.md", "plan.md", "docs/ü.md"]),
    tasks: planTasks(pick),
    mayEdit: !pick.chance(5),
    ...present({ prune: pick.maybe(40, () => true), dryRun: pick.maybe(15, () => true) }),
  }),
  claim: (pick, scene) => ({
    type: "claim",
    taskId: taskLike(pick, scene, (task) => task.readyAt !== null && task.type === "task"),
    ...claimOptions(pick, scene),
  }),
  "claim-next": (pick, scene) => ({
    type: "claim-next",
    ...claimOptions(pick, scene),
    ...present({
      labels: pick.maybe(20, () => pick.some(["ui", "db", "x"], 2)),
      resume: pick.of([undefined, false]),
      heedBreaker: pick.of([undefined, true]),
    }),
  }),
  start: (pick, scene) => ({
    type: "start",
    ...holder(pick, scene, ({ state }) => state === "claimed"),
  }),
  heartbeat: (pick, scene) => ({
    type: "heartbeat",
    ...holder(pick, scene),
    ...present({ extendMs: pick.maybe(40, () => pick.of(ttls)) }),
  }),
  progress: (pick, scene) => ({
    type: "progress",
    ...holder(pick, scene),
    ...present({ note: pick.maybe(60, () => "half way"), percent: pick.maybe(40, () => 50) }),
  }),
  ask: (pick, scene) => ({
    type: "ask",
    ...holder(pick, scene),
    question: "which one?",
    ...present({ options: pick.maybe(30, () => ["a", "b"]), default: pick.maybe(20, () => "a") }),
  }),
  respond: (pick, scene) => {
    const taskId = taskLike(pick, scene, (task) => task.question !== null);
    const open = scene.view.task(scene.project, taskId)?.question?.id;
    const questionId = pick.of([undefined, open, open, "q1"]);
    return {
      type: "respond",
      project: scene.project,
      taskId,
      response: "that one",
      ...present({ questionId }),
    };
  },
  complete: (pick, scene) => ({ type: "complete", ...holder(pick, scene), result: result(pick) }),
  submit: (pick, scene) => ({
    type: "submit",
    ...holder(pick, scene),
    result: result(pick),
    ...present({
      commit: pick.of(["c1", "c2", "c1", undefined]),
      base: pick.of([undefined, "c0", "c1"]),
      branch: pick.maybe(50, () => "dibs/0001"),
      summary: pick.maybe(50, () => "ünï"),
      host: pick.maybe(20, () => "h1"),
    }),
  }),
  withdraw: (pick, scene) => ({ type: "withdraw", ...submittedTask(pick, scene) }),
  "acquire-lander": (pick, scene) => ({
    type: "acquire-lander",
    project: scene.project,
    ...place(pick),
    holder: pick.of(["l1", "l1", "l2"]),
    ...present({
      ttlMs: pick.of([undefined, 1000, 5000]),
      replaces: pick.of([undefined, undefined, undefined, "l1", "l2"]),
    }),
  }),
  "release-lander": (pick, scene) => ({
    type: "release-lander",
    ...place(pick),
    epoch: leaseEpoch(pick, scene),
  }),
  "open-landing": (pick, scene) => ({
    type: "open-landing",
    ...place(pick),
    epoch: leaseEpoch(pick, scene),
    tasks: landingTasks(pick, scene),
    ...present({ base: pick.of([undefined, "c0"]), commit: pick.of(["c9", "c9", undefined]) }),
  }),
  "intend-landing": (pick, scene) => ({
    type: "intend-landing",
    ...onLanding(pick, scene),
    commit: "c9",
    tree: pick.of([null, "t1"]),
    tasks: landingTasks(pick, scene),
  }),
  "record-checks": (pick, scene) => ({
    type: "record-checks",
    ...onLanding(pick, scene),
    tasks: landingTasks(pick, scene),
    checks: [
      {
        name: pick.of(["test", "lint"]),
        state: pick.of(["passed", "failed", "flaky"] as const),
        exitCode: pick.of([0, 1, null]),
        durationMs: 5,
        tree: pick.of(["t1", "t2"]),
        ranBy: "l1",
        logTail: "ünï — 日本",
      },
    ],
  }),
  "record-diff": (pick, scene) => ({
    type: "record-diff",
    ...onLanding(pick, scene),
    ...lastSubmission(pick, scene),
    diff: {
      base: "c0",
      files: [{ path: "ü.ts", insertions: pick.of([1, null]), deletions: 0 }],
      fileCount: pick.of([1, 1, 0]),
      insertions: 1,
      deletions: 0,
      reviewPaths: pick.of([[], [], ["package.json"]]),
      patchId: pick.of([null, "p1", "p2"]),
    },
    patch: { text: "+ünï\n", omitted: pick.of([0, 2]) },
  }),
  "claim-review": (pick, scene) => ({
    type: "claim-review",
    project: scene.project,
    sessionId: pick.of(sessionIds),
    candidates: scene.tasks.filter(({ state }) => state === "submitted").map(({ id }) => id),
    ...present({
      ttlMs: pick.maybe(40, () => pick.of(ttls)),
      resume: pick.of([undefined, false]),
      register: pick.maybe(50, () => ({})),
    }),
  }),
  review: (pick, scene) => ({
    type: "review",
    ...lastSubmission(pick, scene),
    verdict: pick.of(["approve", "approve", "request-changes"] as const),
    ...present({
      comment: pick.maybe(50, () => "ünï"),
      sessionId: pick.of([undefined, undefined, ...sessionIds]),
      epoch: pick.of([undefined, undefined, undefined, 1, 2]),
      token: pick.of([undefined, "a"]),
      own: pick.of([undefined, true]),
    }),
  }),
  "ask-for-review": (pick, scene) => ({ type: "ask-for-review", ...submittedTask(pick, scene) }),
  land: (pick, scene) => ({ type: "land", ...onLanding(pick, scene) }),
  "drop-landing": (pick, scene) => ({ type: "drop-landing", ...onLanding(pick, scene) }),
  return: (pick, scene) => {
    return {
      type: "return",
      ...onLanding(pick, scene),
      ...lastSubmission(pick, scene),
      reason: pick.of(["conflict", "check-failed"] as const),
      ...present({ detail: pick.maybe(50, () => "a.ts") }),
    };
  },
  "hold-landing": (pick, scene) => ({
    type: "hold-landing",
    project: scene.project,
    ...onLanding(pick, scene),
    holds: pick.of([
      [],
      [{ reason: "TARGET_RED", message: "Check test fails on main.", fix: "dibs check run" }],
      [{ reason: "DIRTY", message: "a.ts has changes.", tasks: [submittedTask(pick, scene)] }],
    ]),
  }),
  fail: (pick, scene) => ({
    type: "fail",
    ...holder(pick, scene),
    error: "broken",
    spread: spread(pick),
    ...present({
      retryable: pick.of([undefined, undefined, undefined, false]),
      quick: pick.of([true, true, undefined, false]),
    }),
  }),
  release: (pick, scene) => {
    const { sessionId, ...by } = holder(pick, scene);
    const force = pick.maybe(20, () => true);
    return {
      type: "release",
      ...by,
      spread: spread(pick),
      ...present({
        sessionId: force && pick.chance(50) ? undefined : sessionId,
        force,
        reason: pick.of([undefined, "completed", "failed", "tired"]),
        result: pick.maybe(30, () => result(pick)),
        error: pick.maybe(20, () => "no way"),
      }),
    };
  },
  cancel: (pick, scene) => ({
    type: "cancel",
    project: scene.project,
    taskId: taskLike(pick, scene, (task) => isOpen(task.state)),
    ...present({ cascade: pick.of([undefined, true]), reason: pick.maybe(30, () => "not needed") }),
  }),
  retry: (pick, scene) => ({
    type: "retry",
    project: scene.project,
    taskId: taskLike(pick, scene, ({ state }) => state === "failed" || state === "cancelled"),
  }),
  update: (pick, scene) => {
    const isQueued = (task: Task) =>
      stateOf(task, scene.view.claim(scene.project, task.id)) === "queued" || pick.chance(15);
    const taskId = taskLike(pick, scene, isQueued);
    return { type: "update", project: scene.project, taskId, patch: taskPatch(pick, scene) };
  },
  settle: (pick, scene) => ({
    type: "settle",
    project: scene.project,
    taskIds: [pick.of(scene.claims)?.taskId ?? "missing"],
  }),
  sweep: (pick) => ({ type: "sweep", limit: pick.of([1000, 1, 2]) }),
  "register-session": (pick, scene) => ({
    type: "register-session",
    project: scene.project,
    session: {
      ...sessionInput(pick),
      ...present({ uses: pick.maybe(20, () => someUses(pick, scene.view)) }),
    },
  }),
  "session-heartbeat": (pick, scene) => ({
    type: "session-heartbeat",
    project: scene.project,
    sessionId: anySession(pick),
    ...present({ contextPercent: pick.maybe(50, () => 12.5), score: pick.maybe(30, () => 3) }),
  }),
  "end-session": (pick, scene) => {
    const sessionId = anySession(pick);
    const incarnation = scene.view.session(scene.project, sessionId)?.incarnation;
    return {
      type: "end-session",
      project: scene.project,
      sessionId,
      reason: pick.of(["session_ended", "process_gone"] as const),
      ...present({ incarnation: pick.of([undefined, incarnation, 1]) }),
    };
  },
  "archive-tasks": (pick, scene) => ({
    type: "archive-tasks",
    tasks: scene.tasks.filter(() => !pick.chance(10)).map(({ id }) => ({ project: scene.project, id })),
    before: scene.now + pick.of([1, 0, -1, -1000, 60_000]),
  }),
  "reserve-id": (pick, scene) => ({
    type: "reserve-id",
    project: scene.project,
    ...present({ parentId: pick.maybe(60, () => taskLike(pick, scene, () => true)) }),
  }),
  "create-project": (pick) => ({
    type: "create-project",
    id: pick.of(["extra", "side", "more", "../up"]),
    ...present({ settings: pick.maybe(50, () => projectSettings(pick)) }),
  }),
  "update-project": (pick, scene) => ({
    type: "update-project",
    project: scene.project,
    ...present({
      settings: pick.maybe(75, () => ({
        ...projectSettings(pick),
        ...present({ uses: pick.maybe(10, () => someUses(pick, scene.view)) }),
      })),
      paused: pick.maybe(50, () => pick.of([false, false, true])),
    }),
  }),
  "set-resource": (pick) => {
    const [amount, unit] = pick.of([
      [1, "usd"],
      [20, "tokens"],
      [0.01, "minutes"],
    ] as const);
    const period = pick.of(["hour", "day", "total"] as const);
    return {
      type: "set-resource",
      id: pick.chance(3) ? "a b" : pick.of(resourceIds),
      ...present({
        capacity: pick.of([undefined, null, 1, 2, 3, 4]),
        budgets: pick.maybe(40, () => pick.of([[], [{ amount, unit, period }]])),
      }),
    };
  },
  "hold-resource": (pick, scene) => ({
    type: "hold-resource",
    project: scene.project,
    id: pick.of(resourceIds),
    source: pick.of(["manual", "quota"] as const),
    ...present({
      forMs: pick.of([undefined, 500, 1000, 5000, 60_000, 60_000, 30_000_000]),
      reason: pick.maybe(50, () => "ünï"),
      sessionId: pick.maybe(30, () => pick.of(sessionIds)),
    }),
  }),
  "resume-resource": (pick) => ({
    type: "resume-resource",
    id: pick.of(resourceIds),
    ...present({ source: pick.of([undefined, "manual", "quota", "budget"] as const) }),
  }),
  "remove-resource": (pick) => ({
    type: "remove-resource",
    id: pick.of(resourceIds),
    sessions: pick.chance(10) ? ["s1"] : [],
  }),
  "report-usage": (pick, scene) => ({
    type: "report-usage",
    ...holder(pick, scene),
    ...present({
      usd: pick.of([undefined, 0, 0.1, 0.2, 0.3, 0.7, 1.1]),
      inputTokens: pick.of([undefined, 0, 7, 12]),
      outputTokens: pick.of([undefined, 3, 9]),
      model: pick.of([undefined, "m1", "m2"]),
    }),
  }),
  "read-notification": (pick, { view }) => {
    const last = view.org().notificationSeq;
    return { type: "read-notification", id: pick.of([`n${last}`, "n1", `n${last - 1}`, "n01", "n", "x9"]) };
  },
};

/** What makes sense instead while there is nothing yet for the word to act on. */
function insteadOf(word: keyof typeof made, scene: Scene): keyof typeof made {
  const { tasks, claims } = scene;
  if (onTask.has(word) && tasks.length === 0) return "create";
  const isClosed = ({ state }: Task) => state === "failed" || state === "cancelled";
  if (word === "retry" && !tasks.some(isClosed)) word = claims.length > 0 ? "fail" : "cancel";
  if (word === "respond" && !tasks.some(({ question }) => question)) word = "ask";
  if (onSubmission.has(word)) word = towardsLanding(word, scene);
  return onClaim.has(word) && claims.length === 0 ? "claim-next" : word;
}

const onSubmission = new Set<string>([
  "withdraw",
  "release-lander",
  "open-landing",
  "return",
  "land",
  "intend-landing",
  "drop-landing",
  "record-checks",
  "record-diff",
  "hold-landing",
  "claim-review",
  "review",
  "ask-for-review",
]);

const withoutLander = new Set<string>(["withdraw", "claim-review", "review", "ask-for-review"]);

/** What must come first: a submission, a lander, a landing, its intent. */
function towardsLanding(word: keyof typeof made, { view, tasks, project }: Scene): keyof typeof made {
  if (view.project(project)?.settings.land.target !== "main") return "complete";
  if (!tasks.some(({ state }) => state === "submitted")) return "submit";
  const lease = leaseOf(view, { repository: "root", target: "main" });
  if (withoutLander.has(word)) return word;
  if (!lease?.holder) return "acquire-lander";
  if (word === "open-landing" || word === "release-lander") return word;
  return lease.landing === null ? "open-landing" : word;
}

const onClaim = new Set<string>([
  "start",
  "heartbeat",
  "progress",
  "ask",
  "complete",
  "submit",
  "fail",
  "release",
  "settle",
  "report-usage",
]);
const onTask = new Set<string>([...onClaim, "claim", "claim-next", "cancel", "retry", "update", "respond"]);

export function commandOf(word: keyof typeof made, pick: Picker, view: Reads, now: number): Command {
  const project = pick.chance(30)
    ? pick.of(["side", "side", "side", "side", "side", "extra", "ghost"])
    : "demo";
  const scene = sceneOf(view, now, project);
  return made[pick.chance(10) || !view.project(project) ? word : insteadOf(word, scene)]!(pick, scene);
}

export const commandTypes = Object.keys(made).filter((word) => word !== "create-many");
