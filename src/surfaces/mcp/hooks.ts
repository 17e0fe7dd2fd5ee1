// What Dibs does when Claude Code tells of an event. A tool that was used shows that the agent lives: what it holds is renewed. The
// end of a turn is not the end of the work, the agent may just wait for its user: it is reminded of what it has not reported. When
// the program ends, what the agent holds goes back. At the start people and agents see which questions are open.

import { oneLine } from "../../client/brief/data.js";
import type { Dibs } from "../../client/client.js";
import type { WireTask } from "../../contract/shapes.js";
import { answerReminder, questionList } from "./answers.js";
import { clip } from "./text.js";

export interface HookEvent {
  name: string;
  /** Of a start: how it came about. */
  source?: string | undefined;
  /** Of an end: why. */
  reason?: string | undefined;
  /** Of a stop: the agent goes on by itself, because a hook told it to or something in the background will wake it. */
  goesOn?: boolean | undefined;
}

export interface HookAgent {
  sessionId: string;
  /** Nobody else acts under this name: what it holds may be given back. */
  isOwn: boolean;
}

export interface HookAnswer {
  /** For the human. */
  systemMessage?: string;
  hookSpecificOutput?: { hookEventName: string; additionalContext: string };
}

type InFlight = Awaited<ReturnType<Dibs["tasks"]["inFlight"]>>["inFlight"][number];

type Hear = (
  dibs: Dibs,
  event: HookEvent,
  agent: HookAgent | null,
  now: number,
) => Promise<HookAnswer | null>;

const questionsShown = 5;
const questionWeight = 120;
/** Whoever has said something about a task within this time is not asked again. */
const remindAfterMs = 10 * 60_000;

function forAgent({ name }: HookEvent, lines: readonly string[]): HookAnswer | null {
  if (lines.length === 0) return null;
  return { hookSpecificOutput: { hookEventName: name, additionalContext: lines.join("\n") } };
}

const heldBy = async (dibs: Dibs, { sessionId }: HookAgent): Promise<InFlight[]> =>
  (await dibs.tasks.inFlight({ sessionId })).inFlight;

const started: Hear = async (dibs, event, agent) => {
  const held = agent ? await heldBy(dibs, agent) : [];
  const own = held.map(
    ({ taskId, task }) => `You hold Dibs task ${taskId} (${task.state}); get_task shows it.`,
  );
  // After a compaction the conversation goes on: its human has seen them.
  const { questions } =
    event.source === "compact" ? { questions: [] } : await dibs.notifications.inbox({ limit: 20 });
  const asked = questions.filter(({ question }) => question !== null);
  const answer = forAgent(event, [...own, ...questionsFor(asked)]);
  return asked.length === 0 ? answer : { systemMessage: messageFor(asked), ...answer };
};

function questionsFor(tasks: readonly WireTask[]): string[] {
  if (tasks.length === 0) return [];
  return [
    `Dibs: ${counted(tasks)} of agents for a human. Your user can answer: dibs answer <task id> "<answer>".`,
    questionList(tasks.slice(0, questionsShown), questionWeight),
    ...(tasks.length > questionsShown ? ["dibs inbox shows all of them."] : []),
  ];
}

function messageFor(tasks: readonly WireTask[]): string {
  const shown = tasks
    .slice(0, questionsShown)
    .map(({ id, question }) => `  ${id}: ${oneLine(clip(question!.text, 100))}`);
  return [`Dibs: ${counted(tasks)} for you (dibs inbox, dibs answer <id> "<your answer>"):`, ...shown].join(
    "\n",
  );
}

const counted = ({ length }: readonly unknown[]) =>
  length === 1 ? "there is a question" : `there are ${length >= 20 ? "20 or more" : length} questions`;

/** What nobody has renewed for a while; an answer that the agent has not heard comes with it. */
async function renewed(dibs: Dibs, { sessionId }: HookAgent, held: readonly InFlight[]): Promise<string[]> {
  if (held.length === 0) return [];
  const { project } = await dibs.projects.get({});
  const { heartbeatIntervalMs } = project.settings.claim;
  const isDue = ({ claim, task }: InFlight) =>
    task.state !== "awaiting_response" && claim.ttlMs - claim.remainingMs >= heartbeatIntervalMs;
  const told = await Promise.all(held.filter(isDue).map((each) => renew(dibs, sessionId, each)));
  return told.flat();
}

async function renew(dibs: Dibs, sessionId: string, { taskId, claim }: InFlight): Promise<string[]> {
  const { response } = await dibs.tasks.heartbeat({ taskId, sessionId, epoch: claim.epoch });
  return response === null ? [] : answerReminder({ id: taskId, response }, 1);
}

const used: Hear = async (dibs, event, agent) =>
  agent && forAgent(event, await renewed(dibs, agent, await heldBy(dibs, agent)));

const stopped: Hear = async (dibs, event, agent, now) => {
  if (!agent) return null;
  const held = await heldBy(dibs, agent);
  const told = await renewed(dibs, agent, held);
  if (event.goesOn) return null;
  const working = held.filter(({ task }) => task.state === "running" || task.state === "claimed");
  const tasks = await Promise.all(working.slice(0, 5).map(({ taskId }) => dibs.tasks.get({ taskId })));
  const pending = tasks.map(({ task }) => task).filter(({ responsePending }) => responsePending);
  // With these it has enough to do.
  if (pending.length > 0)
    return forAgent(
      event,
      pending.flatMap((task) => answerReminder(task, pending.length)),
    );
  const silent = working.filter(({ claim }) => isSilent(claim, now));
  return forAgent(event, [...told, ...silent.map(reminder)]);
};

function isSilent({ progress }: InFlight["claim"], now: number): boolean {
  return progress === null || now - Date.parse(progress.at) > remindAfterMs;
}

const reminder = ({ taskId }: InFlight) =>
  `You still hold Dibs task ${taskId}. Finished: complete_task (or dibs done). Not possible: fail_task. A human must decide: ask_human. To continue later: update_progress with what is left; you keep the task. Otherwise release_task.`;

/** The program goes on with another conversation, which is told what it holds. */
const notTheEnd = ["clear", "resume"];

const ended: Hear = async (dibs, event, agent) => {
  if (!agent?.isOwn || notTheEnd.includes(event.reason ?? "")) return null;
  const { sessionId } = agent;
  const held = await heldBy(dibs, agent);
  const reason = "Claude Code ended";
  await Promise.allSettled(
    held.map(({ taskId, claim: { epoch } }) => dibs.tasks.release({ taskId, sessionId, epoch, reason })),
  );
  // Unknown: it never did anything, or its MCP server was quicker.
  await dibs.sessions.end({ sessionId }).catch(() => undefined);
  return null;
};

const events: Record<string, Hear> = {
  SessionStart: started,
  PostToolUse: used,
  PostToolUseFailure: used,
  Stop: stopped,
  SessionEnd: ended,
};

export const hearHook: Hear = async (dibs, event, agent, now) =>
  Object.hasOwn(events, event.name) ? await events[event.name]!(dibs, event, agent, now) : null;
