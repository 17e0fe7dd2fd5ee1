// A client whose network has troubles, the same ones for the same seed: requests and answers take their time, are throttled or
// lost, and some lost requests are carried out later. Over the fake or over DynamoDB Local.

import { type DynamoClient, DynamoError } from "../../src/store/dynamodb/client.js";

type Call = (...args: unknown[]) => Promise<unknown>;
export type CallName = Exclude<keyof DynamoClient, "close">;

/** Every call of the client goes through `around`: it can hold it, change its answer, repeat it, or leave it out. */
export function intercepted(
  client: DynamoClient,
  around: (name: CallName, args: unknown[], run: Call) => Promise<unknown>,
): DynamoClient {
  return new Proxy(client, {
    get(target, name: keyof DynamoClient) {
      const method = target[name] as Call;
      if (name === "close") return method.bind(target);
      return (...args: unknown[]) => around(name, args, (...changed) => method.apply(target, changed));
    },
  });
}

export interface Troubles {
  seed: number;
  /** How many turns of the event loop a request, and its answer, are under way at most. */
  turnsMax?: number;
  /** Each a chance from 0 to 1. */
  throttled?: number;
  /** The request does not arrive. */
  lostRequest?: number;
  /** It is carried out, and its answer does not arrive. */
  lostAnswer?: number;
  /** Reported as lost, and carried out up to `lateTurnsMax` turns later. */
  late?: number;
  lateTurnsMax?: number;
  /** A batch leaves some of its requests unprocessed. */
  partial?: number;
}

const reads = new Set(["getItem", "batchGetItem", "query", "describeTable"]);

/** `settle`: waits for the requests that are late. */
export function unreliable(
  client: DynamoClient,
  troubles: Troubles,
): DynamoClient & { settle(): Promise<void> } {
  const { turnsMax = 3, throttled = 0, lostRequest = 0, lostAnswer = 0, late = 0, partial = 0 } = troubles;
  const random = randomFrom(troubles.seed);
  const happens = (chance: number) => random() < chance;
  const wait = async (turns: number) => {
    for (let turn = Math.floor(random() * (turns + 1)); turn > 0; turn--) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const underWay = new Set<Promise<unknown>>();
  const lost = () => new DynamoError("lost", "the connection was lost");

  const troubled = async (name: string, run: () => Promise<unknown>): Promise<unknown> => {
    await wait(turnsMax);
    if (happens(throttled)) throw new DynamoError("busy", "the request rate is too high");
    if (happens(lostRequest)) throw lost();
    if (!reads.has(name) && happens(late)) {
      const arriving = wait(troubles.lateTurnsMax ?? 50)
        .then(run)
        .catch(() => undefined);
      underWay.add(arriving);
      arriving.finally(() => underWay.delete(arriving));
      throw lost();
    }
    const isLost = happens(lostAnswer);
    const answer = await run().catch((error) => {
      if (!isLost) throw error;
    });
    await wait(turnsMax);
    if (isLost) throw lost();
    return answer;
  };

  /** The first of a batch, at least one. */
  const someOf = <T>(all: readonly T[]): { now: readonly T[]; later: readonly T[] } => {
    if (all.length < 2 || !happens(partial)) return { now: all, later: [] };
    const count = 1 + Math.floor(random() * (all.length - 1));
    return { now: all.slice(0, count), later: all.slice(count) };
  };

  const troubledClient = intercepted(client, (name, args, run) =>
    troubled(name, async () => {
      if (name !== "batchGetItem" && name !== "batchWriteItem") return run(...args);
      const { now, later } = someOf(args[0] as unknown[]);
      const answer = (await run(now)) as { unprocessed: unknown[] };
      return { ...answer, unprocessed: [...answer.unprocessed, ...later] };
    }),
  );
  const settle = async () => void (await Promise.all(underWay));
  return new Proxy(troubledClient, {
    get: (target, name: string) => (name === "settle" ? settle : target[name as keyof DynamoClient]),
  }) as DynamoClient & { settle(): Promise<void> };
}

/** Mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
