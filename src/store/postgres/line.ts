// One connection to the server, which never becomes another one: when it breaks, everything under way on it fails at once, and
// it is of no more use. Left to itself the driver would connect again behind our back, in the middle of a transaction, leave
// statements that it had not sent yet without an answer, or write into a closed socket, which ends the process.

import { createConnection, type Socket } from "node:net";
import postgres from "postgres";

export interface Settings {
  url: string;
  /** For people and error texts: without the password. */
  where: string;
  max: number;
  /** Off behind poolers that do not know prepared statements. */
  prepare: boolean;
}

export type Driver = postgres.Sql<{ bigint: number }>;
type Reserved = postgres.ReservedSql<{ bigint: number }>;

interface Listeners {
  onLost?(): void;
  /** A notice has arrived. */
  onNotice?(channel: string, payload: string): void;
}

/** Longer than any statement may take, see `timeouts`. */
const silentMsMax = 75_000;

const numeric = { to: 20, from: [20, 1700], serialize: String, parse: Number };

interface Address {
  path: string | false;
  host: string[];
  port: number[];
}

/** For one connection: whoever asks for a second one is told that the first is lost. */
function onlySocket(): (address: Address) => Socket {
  let isUsed = false;
  return ({ path, host: [host], port: [port] }) => {
    if (isUsed) throw lost("CONNECTION_CLOSED");
    isUsed = true;
    const socket = path ? createConnection(path) : createConnection({ host: host!, port: port! });
    // The driver looks for the name of the certificate there.
    return Object.assign(socket, { host });
  };
}

export function connect({ url, prepare }: Settings, name: string, more: object = {}): Driver {
  return postgres(url, {
    max: 1,
    prepare,
    fetch_types: false,
    connect_timeout: 10,
    max_lifetime: null,
    socket: onlySocket(),
    onnotice: () => undefined,
    types: { bigint: numeric },
    connection: { application_name: name },
    ...more,
  } as postgres.Options<{ bigint: postgres.PostgresType<number> }>) as Driver;
}

/** Looks like the driver's own errors, so that it is judged alike. */
export function lost(code: string): Error {
  return Object.assign(new Error(`the connection was lost (${code})`), { code });
}

export class Line {
  readonly openedAt = performance.now();
  /** How many events there were when its plans were made. */
  plannedFor = 0;
  private isLost = false;
  private silence: NodeJS.Timeout | undefined;
  private readonly driver: Driver;
  private reserved: Reserved | null = null;
  /** Of the statements under way. */
  private readonly rejects = new Set<(error: Error) => void>();

  private constructor(settings: Settings, name: string, { onLost, onNotice }: Listeners) {
    this.driver = connect(settings, name, {
      onclose: () => {
        const wasUsable = this.isUsable;
        this.lose();
        if (wasUsable) onLost?.();
      },
      onnotify: onNotice,
    });
  }

  static async open(settings: Settings, name: string, listeners: Listeners = {}): Promise<Line> {
    const line = new Line(settings, name, listeners);
    try {
      // Only a connection that has answered once can be reserved.
      await line.driver.unsafe("SELECT 1");
      if (line.isLost) throw lost("CONNECTION_CLOSED");
      line.reserved = await line.driver.reserve();
      return line;
    } catch (error) {
      await line.end();
      throw error;
    }
  }

  get isUsable(): boolean {
    return this.reserved !== null && !this.isLost;
  }

  /** Sends a statement at once, after those before it; fails when the connection does. `judge` says with what. */
  run<T>(
    send: (sql: Reserved) => PromiseLike<unknown>,
    judge = (error: unknown): unknown => error,
  ): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      if (!this.isUsable) return reject(lost("CONNECTION_CLOSED"));
      const settle = (end: () => void) => {
        this.rejects.delete(reject);
        this.listenOn();
        end();
      };
      this.rejects.add(reject);
      if (this.rejects.size === 1) this.listenOn();
      send(this.reserved!).then(
        (value) => settle(() => resolve(value as T)),
        (error) => settle(() => reject(judge(error))),
      );
    });
    // Whoever waits for a later statement learns of it; this one must not be an unhandled rejection meanwhile.
    answer.catch(() => undefined);
    return answer;
  }

  /** The server ends every statement in time. Whoever hears nothing for longer has lost it: a host can vanish without a word. */
  private listenOn(): void {
    clearTimeout(this.silence);
    if (this.rejects.size === 0) return;
    this.silence = setTimeout(() => void this.end(), silentMsMax).unref();
  }

  private lose(): void {
    this.isLost = true;
    clearTimeout(this.silence);
    const error = lost("CONNECTION_CLOSED");
    for (const reject of this.rejects) reject(error);
    this.rejects.clear();
  }

  async end(): Promise<void> {
    this.lose();
    await this.driver.end({ timeout: 0 });
  }
}
