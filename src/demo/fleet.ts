// The workers as processes. Each is ended through its own handle: asked by closing its channel, killed if it does not listen.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { plain } from "../common/text.js";

export const agents: readonly string[] = ["ada", "bob", "cyd", "dee"];
const graceMs = 3_000;
const errorLengthMax = 2_000;

interface Member {
  process: ChildProcess;
  killed: boolean;
  error: string;
}

export class Fleet {
  private readonly members = new Map<string, Member>();
  private stopping = false;

  /** `onCrash` hears of a worker that ended though nobody had ended it. */
  constructor(private readonly onCrash: (error: Error) => void) {}

  start(agent: string, args: string[]): number | undefined {
    const worker = fileURLToPath(new URL("./worker.js", import.meta.url));
    const process = fork(worker, args, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const member: Member = { process, killed: false, error: "" };
    process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      member.error = (member.error + text).slice(-errorLengthMax);
    });
    process.once("error", this.onCrash);
    process.once("exit", (code, signal) => {
      if (member.killed || this.stopping) return;
      this.onCrash(new Error(`worker ${agent} ended (${signal ?? code}): ${plain(member.error)}`));
    });
    this.members.set(agent, member);
    return process.pid;
  }

  /** kill -9: no goodbye, no cleaning up. */
  kill(agent: string): number | undefined {
    const member = this.members.get(agent);
    if (!member) return undefined;
    member.killed = true;
    member.process.kill("SIGKILL");
    return member.process.pid;
  }

  isKilled(agent: string | null): boolean {
    return agent !== null && this.members.get(agent)?.killed === true;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running().map((process) => end(process)));
  }

  /** For the last moment, when nothing can be awaited any more. */
  killAll(): void {
    this.stopping = true;
    for (const process of this.running()) process.kill("SIGKILL");
  }

  private running(): ChildProcess[] {
    return [...this.members.values()]
      .map(({ process }) => process)
      .filter(({ pid, exitCode, signalCode }) => pid && exitCode === null && signalCode === null);
  }
}

async function end(process: ChildProcess): Promise<void> {
  const exited = once(process, "exit");
  const impatience = setTimeout(() => process.kill("SIGKILL"), graceMs);
  if (process.connected) process.disconnect();
  await exited;
  clearTimeout(impatience);
}
