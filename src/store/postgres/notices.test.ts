import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Notices } from "./notices.js";

const org = "default";

/** What the server does: numbers commits, and passes notices on at once. */
class FakeServer {
  version = 0;
  looks = 0;
  isMute = false;
  private readonly listeners = new Map<object, { hear(payload: string): void; lose(): void }>();

  readonly database = {
    notify: async (_channel: string, payload: string) => {
      if (!this.isMute) for (const { hear } of this.listeners.values()) hear(payload);
    },
    listen: async (_channel: string, hear: (payload: string) => void, lose: () => void) => {
      const listener = { destroy: () => void this.listeners.delete(listener) };
      this.listeners.set(listener, { hear, lose });
      return listener;
    },
  };

  endConnections(): void {
    const ended = [...this.listeners.values()];
    this.listeners.clear();
    for (const { lose } of ended) lose();
  }
}

/** One process: what it was called back with. */
class Node {
  readonly changes: boolean[] = [];
  readonly notices: Notices;

  constructor(private readonly server: FakeServer) {
    this.notices = new Notices({
      database: server.database as never,
      look: async () => {
        server.looks++;
        return server.version;
      },
      onChange: (_org, mayFree) => this.changes.push(mayFree),
    });
    this.notices.watch(org, server.version);
  }

  commit(mayFree: boolean): void {
    this.notices.committed(org, ++this.server.version, mayFree);
  }
}

let server: FakeServer;
let nodes: Node[];

beforeEach(async () => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  server = new FakeServer();
  nodes = [new Node(server), new Node(server)];
  // Probes have arrived, notices are trusted, and the next look is a second away.
  await vi.advanceTimersByTimeAsync(500);
  for (const before = server.looks; server.looks < before + nodes.length; ) {
    await vi.advanceTimersByTimeAsync(1);
  }
  server.looks = 0;
});

afterEach(async () => {
  for (const { notices } of nodes) await notices.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);

describe("notices of commits", () => {
  test("report a commit that frees a task also when others follow before the notice is sent", async () => {
    const [a, b] = nodes as [Node, Node];
    a.commit(true);
    a.commit(false);
    // Before any look.
    await vi.advanceTimersByTimeAsync(10);
    expect(server.looks).toBe(0);
    expect(b.changes).toEqual([true]);
  });

  test("leave nothing for looks to find", async () => {
    for (let round = 0; round < 50; round++) {
      for (const node of nodes) node.commit(false);
      if (round % 3 === 0) nodes[0]!.commit(false);
      await vi.advanceTimersByTimeAsync(100);
    }
    await seconds(5);
    expect(server.looks).toBeGreaterThan(5);
    // A look that finds something reports that it can be anything.
    expect(nodes.flatMap(({ changes }) => changes.filter((mayFree) => mayFree))).toEqual([]);
  });

  test("that are missed are found by the next look, also when others arrive", async () => {
    const [a, b] = nodes as [Node, Node];
    server.isMute = true;
    a.commit(true);
    await vi.advanceTimersByTimeAsync(10);
    server.isMute = false;
    b.commit(false);
    a.commit(false);
    await vi.advanceTimersByTimeAsync(10);
    expect(b.changes).toEqual([false]);
    await seconds(2);
    expect(b.changes).toEqual([false, true]);
    await seconds(5);
    expect(b.changes).toEqual([false, true]);
  });

  test("are assumed missed while the listening connection was lost, and searched for when it is back", async () => {
    const [, b] = nodes as [Node, Node];
    server.endConnections();
    // Longer than the pause before it listens again, shorter than until the next look.
    await vi.advanceTimersByTimeAsync(45);
    expect(server.looks).toBe(0);
    expect(b.changes).toEqual([true]);
  });

  test("of an earlier program, which have no versions, wake at once", async () => {
    const [, b] = nodes as [Node, Node];
    server.version++;
    await server.database.notify("dibs", JSON.stringify({ from: "other", orgs: [[org, true]] }));
    expect(b.changes).toEqual([true]);
  });
});
