// Reviews over MCP: claim_task with kind review, and complete_task with a verdict. The review has a lease of its own, which is
// renewed like a claim.

import { renderReview } from "../../client/brief/review.js";
import { gatherReview } from "../../client/brief/review-facts.js";
import type { Dibs } from "../../client/client.js";
import { Ending } from "../../common/abort.js";
import { DibsError } from "../../contract/error.js";
import type { WireNothing } from "../../contract/shapes.js";
import type { AgentSessions } from "./agent-sessions.js";
import { type Arguments, waitMsOf } from "./arguments.js";

const invalid = (message: string, hint: string) => new DibsError("VALIDATION_FAILED", message, { hint });

export function isReview({ kind }: Arguments): boolean {
  if (kind === undefined || kind === "task") return false;
  if (kind === "review") return true;
  throw invalid(`kind ${String(kind).slice(0, 40)}: must be review or task.`, "Omit it to claim a task.");
}

export const howToJudge = (taskId: string) =>
  `complete_task with task_id ${taskId}, verdict approve or request-changes, and your findings as output; release_task if you cannot judge it.`;

export async function claimReview(
  agents: AgentSessions,
  input: Arguments,
  signal: AbortSignal,
): Promise<string[]> {
  if (input.task_id !== undefined)
    throw invalid(
      "task_id: cannot be combined with kind review.",
      "The next submission in line is reviewed.",
    );
  const agentId = agents.nameOf(input.agent_id);
  const waitMs = waitMsOf(input.wait_seconds);
  const { agentType } = agents.options;
  const unknown = { register: true, ...(agentType === undefined ? {} : { agentType }) };
  const wish = { sessionId: agentId, kind: "review" as const, waitMs, ...(agents.renews ? {} : unknown) };
  return agents.act(agentId, async (dibs) => {
    const broken = new Ending([signal, agents.signal]);
    const { signal: ended } = broken;
    const claimed = await dibs.tasks.claimNext(wish, { signal: ended }).finally(() => broken.release());
    if (!claimed.claim) return noReview(waitMs, "why" in claimed ? claimed.why : undefined);
    const { claim, task, resumed } = claimed;
    const { taskId, sessionId, epoch } = claim;
    const submission = "review" in claimed ? claimed.review : undefined;
    if (!submission) throw new DibsError("INTERNAL", "The server answered without a submission.");
    agents.hold(agentId, claim, submission.number);
    if (broken.isOver && !resumed) {
      await dibs.tasks.release({ taskId, sessionId, epoch, reason: "its call was aborted" });
      agents.letGo(agentId, taskId);
      return [`The call was aborted; the review of task ${taskId} went back.`];
    }
    const facts = await gatherReview(dibs, { project: task.project, taskId }, submission);
    const lease = agents.renews
      ? "Your review is renewed while you work"
      : `Your review expires at ${claim.expiresAt}: call update_progress before`;
    return [
      ...(resumed ? ["You already hold this review. Finish or release it before you claim another."] : []),
      `You (${sessionId}) review submission ${submission.number} of task ${taskId}. ${lease}.`,
      "Judge whether the change does what the task asks for. Do not change or merge it.",
      renderReview(facts, { patchFile: null }),
      `Next: ${howToJudge(taskId)}`,
    ];
  });
}

function noReview(waitMs: number, why: WireNothing | undefined): string[] {
  return [
    why?.message ?? "No submission waits for a review by you.",
    ...(waitMs > 0 ? [`Waited ${waitMs / 1000} s.`] : []),
    "Next: claim_task with kind review and wait_seconds 50 to wait for one, or stop if you expect none.",
  ];
}

export const reviewReleased = (taskId: string): string[] => [
  `Released the review of task ${taskId}; another reviewer can claim it.`,
  "Next: claim_task for other work.",
];

export async function giveVerdict(agents: AgentSessions, input: Arguments): Promise<string[]> {
  const agentId = agents.nameOf(input.agent_id);
  const taskId = input.task_id as string;
  const { verdict } = input;
  if (verdict !== "approve" && verdict !== "request-changes") {
    const what = verdict === undefined ? "is required to finish a review" : "is unknown";
    throw invalid(`verdict: ${what}.`, "approve, or request-changes with your findings as output.");
  }
  const output = (input.output as string | undefined) ?? "";
  if (verdict === "request-changes" && output.trim() === "")
    throw invalid("output: is required with request-changes.", "Say what must change, for the next attempt.");
  const answer = await agents.act(
    agentId,
    async (dibs) => {
      const on = {
        ...agents.holder(agentId, taskId),
        submission: await numberOf(agents, dibs, agentId, taskId),
      };
      const comment = output.trim() === "" ? {} : { comment: output };
      const given =
        verdict === "approve"
          ? dibs.tasks.approve({ ...on, ...comment })
          : dibs.tasks.requestChanges({ ...on, reason: output });
      return await given.catch((error) => refused(agents, dibs, agentId, taskId, error));
    },
    true,
  );
  agents.letGo(agentId, taskId);
  const { number, approved } = answer.submission;
  if (verdict === "request-changes")
    return [
      `Requested changes of task ${taskId}; its next attempt reads your findings.`,
      "Next: claim_task.",
    ];
  const after = approved ? "It lands next." : "It still needs a person's approval.";
  return [`Approved submission ${number} of task ${taskId}. ${after}`, "Next: claim_task."];
}

/** Another verdict came first: the review is of no use, and must not keep the agent from other work. */
async function refused(
  agents: AgentSessions,
  dibs: Dibs,
  agentId: string,
  taskId: string,
  error: unknown,
): Promise<never> {
  const isDecided = error instanceof DibsError && ["INVALID_STATE", "STALE_SUBMISSION"].includes(error.code);
  if (isDecided) {
    await dibs.tasks.release(agents.holder(agentId, taskId)).catch(() => undefined);
    agents.letGo(agentId, taskId);
  }
  throw error;
}

const earlierMax = 5;

/**
 * Of the submission that the agent read. Over a connection that claimed nothing, the store knows it: a verdict must never be one
 * on a submission that came after it.
 */
async function numberOf(agents: AgentSessions, dibs: Dibs, agentId: string, taskId: string): Promise<number> {
  const held = agents.reviewOf(agentId, taskId);
  if (held !== undefined) return held;
  const { submission: last } = await dibs.tasks.submission({ taskId });
  const isBy = ({ sessionId }: { sessionId: string | null }) => sessionId === agentId;
  for (let number = last.number; number > Math.max(0, last.number - earlierMax); number--) {
    const each = number === last.number ? last : (await dibs.tasks.submission({ taskId, number })).submission;
    if (each.reviews.some(isBy)) return number;
  }
  return last.number;
}
