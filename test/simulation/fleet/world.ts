// A world with a clock and a queue of events instead of time. Each event belongs to a process, which can be stopped and killed.
// The product's own timers run on this clock, so that the real client, server and worker code runs in it unchanged.

/** Numbers that look random, always the same for one name. */
export class Random {
  private state = 2_166_136_261;

  constructor(name: string) {
    for (const character of name)
      this.state = Math.imul(this.state ^ character.codePointAt(0)!, 16_777_619) >>> 0;
  }

  /** 0…1 */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  chance(percent: number): boolean {
    return this.next() * 100 < percent;
  }
}

export class Process {
  /** Events of an earlier incarnation are dropped. */
  incarnation = 0;
  stoppedUntil = 0;
  /** What happens when it continues, in this order. */
  waiting: Event[] = [];
  isDown = false;
  readonly random: Random;

  constructor(
    readonly name: string,
    schedule: number,
  ) {
    this.random = new Random(`${schedule} ${name}`);
  }
}

/** What timers return. */
class Timer {
  isCancelled = false;
  ref = () => this;
  unref = () => this;
}

interface Event {
  at: number;
  /** Events of one instant happen in the order in which they were asked for. */
  order: number;
  process: Process;
  incarnation: number;
  timer: Timer;
  run: () => void;
}

const isBefore = (a: Event, b: Event) => a.at < b.at || (a.at === b.at && a.order < b.order);

export class World {
  /** Milliseconds since the beginning. */
  now = 0;
  private orders = 0;
  private ticks = 0;
  private readonly heap: Event[] = [];
  private readonly self = new Process("world", 0);
  private current = this.self;

  constructor(readonly schedule: number) {}

  /** A number for each thing that happens: the order of what all processes see. */
  tick(): number {
    return ++this.ticks;
  }

  after(process: Process, ms: number, run: () => void): Timer {
    const timer = new Timer();
    const { incarnation } = process;
    // As real timers: never in the past, and whole milliseconds.
    const at = this.now + Math.max(0, Math.ceil(ms));
    this.push({ at, order: ++this.orders, process, incarnation, timer, run });
    return timer;
  }

  /** For the process whose event happens now. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(this.current, ms, resolve));
  }

  /** Its events wait, and so do messages to it. */
  stop(process: Process, until: number): void {
    process.stoppedUntil = Math.max(process.stoppedUntil, until);
    const order = this.orders + 1;
    this.after(this.self, until - this.now, () => {
      if (process.stoppedUntil > this.now) return;
      // Before what happens at this instant anyway.
      for (const [at, event] of process.waiting.splice(0).entries())
        this.push({ ...event, at: this.now, order: order + (at + 1) / 1e6 });
    });
  }

  kill(process: Process): void {
    process.incarnation++;
    process.stoppedUntil = 0;
    process.waiting = [];
    process.isDown = true;
  }

  /** Until it is so, or nothing more happens. */
  async run(isDone: () => boolean): Promise<void> {
    const restore = this.replaceTimers();
    try {
      while (!isDone()) {
        const event = this.pop();
        if (!event) return;
        const { process, timer } = event;
        if (timer.isCancelled || process.incarnation !== event.incarnation) continue;
        if (process.stoppedUntil > event.at || process.waiting.length > 0) {
          process.waiting.push(event);
          continue;
        }
        this.now = event.at;
        this.current = process;
        event.run();
        // Everything that the event has caused, but for timers and messages. The first turn can ask for another one: batches of
        // the client are sent at the end of a turn.
        await turn();
        await turn();
      }
    } finally {
      restore();
    }
  }

  private replaceTimers(): () => void {
    const set = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      this.after(this.current, Number(ms) || 0, () => run(...args));
    const clear = (timer?: Timer) => {
      if (timer) timer.isCancelled = true;
    };
    const every = (run: () => void, ms: number) => {
      const again = new Timer();
      const { current } = this;
      const next = () => {
        if (again.isCancelled) return;
        run();
        this.after(current, ms, next);
      };
      this.after(current, ms, next);
      return again;
    };
    const timeout = (ms: number) => {
      const controller = new AbortController();
      set(() => controller.abort(new DOMException("timed out", "TimeoutError")), ms);
      return controller.signal;
    };
    const random = new Random(`${this.schedule} Math.random`);
    const undo = [
      replace(globalThis, "setTimeout", set),
      replace(globalThis, "clearTimeout", clear),
      replace(globalThis, "setInterval", every),
      replace(globalThis, "clearInterval", clear),
      replace(globalThis, "setImmediate", (run: () => void) => set(run)),
      replace(globalThis, "clearImmediate", clear),
      replace(performance, "now", () => this.now),
      replace(process, "uptime", () => this.now / 1_000),
      replace(Date, "now", () => startOfTime + this.now),
      replace(Math, "random", random.next),
      replace(AbortSignal, "timeout", timeout),
    ];
    return () => {
      for (const step of undo.reverse()) step();
    };
  }

  private push(event: Event): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  private pop(): Event | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

export const startOfTime = Date.UTC(2026, 0, 1);

const later = setImmediate;
const turn = () => new Promise<void>((resolve) => later(resolve));

function replace(holder: object, name: string, value: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(holder, name);
  Object.defineProperty(holder, name, { value, configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(holder, name, own);
    else delete (holder as Record<string, unknown>)[name];
  };
}
