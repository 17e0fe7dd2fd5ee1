import type { Dibs } from "../index.js";
import { agents, type Fleet } from "./fleet.js";
import type { Output } from "./screen.js";
import type { Picture } from "./table.js";

const drawMs = 80;

/** Reads the store anew after an event and draws, at most every `drawMs`. */
export class Watch {
  private readonly timer: NodeJS.Timeout;
  private picture: Picture | null = null;
  private isOld = true;
  private reading: Promise<void> | null = null;

  constructor(
    private readonly dibs: Dibs,
    private readonly fleet: Fleet,
    private readonly output: Output,
    private readonly elapsed: () => number,
    private readonly onError: (error: unknown) => void,
  ) {
    this.timer = setInterval(() => this.tick(), drawMs);
  }

  touch(): void {
    this.isOld = true;
  }

  async load(): Promise<Picture> {
    const [{ tasks }, { sessions }] = await Promise.all([
      this.dibs.tasks.list({ limit: 1000 }),
      this.dibs.sessions.list({ all: true }),
    ]);
    const isKilled = (agent: string | null) => this.fleet.isKilled(agent);
    return { tasks, sessions, agents, isKilled, elapsedMs: this.elapsed(), now: Date.now() };
  }

  private tick(): void {
    if (this.reading) return;
    if (this.isOld) {
      this.isOld = false;
      this.reading = this.refresh().finally(() => {
        this.reading = null;
      });
    } else if (this.picture) {
      this.output.draw({ ...this.picture, elapsedMs: this.elapsed(), now: Date.now() });
    }
  }

  private async refresh(): Promise<void> {
    try {
      this.picture = await this.load();
      this.output.draw(this.picture);
    } catch (error) {
      this.onError(error);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.reading;
  }
}
