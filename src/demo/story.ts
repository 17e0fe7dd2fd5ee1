// What the demo does besides watching: kills one worker, answers one question; and what it remembers for the summary.

import type { Dibs, DibsEvent } from "../index.js";
import type { Fleet } from "./fleet.js";
import type { Script } from "./plan.js";
import { messageOf, type Style } from "./text.js";

export interface Kill {
  taskId: string;
  agent: string;
  percent: number;
  at: number;
  /** When and why Dibs ended the claim of the dead worker. */
  found: { at: number; reason: string } | null;
  takenOver: { at: number; agent: string } | null;
}

export interface Question {
  taskId: string;
  agent: string;
  question: string;
  answer: string | null;
  waitedMs: number;
}

export interface Retry {
  taskId: string;
  error: string;
  delayMs: number;
}

const thinkMs = 1_600;

export class Story {
  kill: Kill | null = null;
  question: Question | null = null;
  readonly retries: Retry[] = [];
  eventCount = 0;

  constructor(
    private readonly context: {
      dibs: Dibs;
      fleet: Fleet;
      scripts: ReadonlyMap<string, Script>;
      pace: number;
      say: (text: string, style: Style) => void;
      onError: (error: unknown) => void;
    },
  ) {}

  notice(event: DibsEvent): void {
    this.eventCount++;
    const { taskId, sessionId: agent, data } = event;
    if (taskId === null) return;
    const at = Date.parse(event.at);
    switch (event.type) {
      case "task:progress":
        if (agent !== null && this.isItsMoment(event)) this.killWorker(taskId, agent, Number(data.percent));
        break;
      case "task:awaiting-response":
        this.question = {
          taskId,
          agent: agent ?? "",
          question: String(data.question),
          answer: null,
          waitedMs: 0,
        };
        setTimeout(
          () => void this.answer(taskId, String(data.questionId)),
          thinkMs * this.context.pace,
        ).unref();
        break;
      case "task:response-received":
        if (this.question?.taskId !== taskId) break;
        Object.assign(this.question, { answer: data.response, waitedMs: data.waitedMs });
        break;
      case "task:retry-scheduled":
        this.retries.push({
          taskId,
          error: messageOf(data.error),
          delayMs: Date.parse(String(data.retryAt)) - at,
        });
        break;
      case "task:claim-orphaned":
      case "task:claim-expired":
        if (this.kill?.taskId === taskId) this.kill.found = { at, reason: String(data.cause ?? data.reason) };
        break;
      case "task:claimed":
        if (this.kill?.taskId === taskId) this.kill.takenOver = { at, agent: agent ?? "" };
    }
  }

  private isItsMoment({ taskId, epoch, data }: DibsEvent): boolean {
    const script = this.context.scripts.get(taskId ?? "");
    return (
      this.kill === null &&
      epoch === 1 &&
      script?.killedAt !== undefined &&
      data.note === script.steps[script.killedAt]
    );
  }

  private killWorker(taskId: string, agent: string, percent: number): void {
    const pid = this.context.fleet.kill(agent);
    this.kill = { taskId, agent, percent, at: Date.now(), found: null, takenOver: null };
    this.context.say(`the demo kills ${agent} (kill -9 ${pid}) in the middle of ${taskId}`, "red");
  }

  private async answer(taskId: string, questionId: string): Promise<void> {
    const { dibs, scripts, onError } = this.context;
    const response = scripts.get(taskId)?.asks?.options[0] ?? "yes";
    await dibs.tasks.respond({ taskId, questionId, response }).catch(onError);
  }
}
