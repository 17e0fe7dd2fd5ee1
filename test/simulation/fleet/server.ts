// A server of the fleet: the real operations, group commits and event hub over the store that all servers share. Requests come in
// as the client writes them.

import { onAbort } from "../../../src/common/abort.js";
import { environment } from "../../../src/compose.js";
import { httpStatus } from "../../../src/contract/codes.js";
import type { Operation } from "../../../src/contract/operation.js";
import { problemBody } from "../../../src/contract/problem.js";
import { type OperationName, operations } from "../../../src/contract/registry.js";
import { dispatch } from "../../../src/operations/dispatch.js";
import type { Caller } from "../../../src/operations/environment.js";
import { EventHub } from "../../../src/operations/event-hub.js";
import { asRefusal, Executor } from "../../../src/operations/execute.js";
import { Housekeeping } from "../../../src/operations/housekeeping.js";
import { wireEvent } from "../../../src/operations/render.js";
import { groupCommits } from "../../../src/store/grouped.js";
import type { ChangeListener, Store } from "../../../src/store/store.js";
import { readQuery } from "../../../src/surfaces/http/input.js";
import { Router } from "../../../src/surfaces/http/router.js";
import { frame } from "../../../src/surfaces/http/stream.js";
import { type Process, Random, type World } from "./world.js";

export const org = "default";
export const project = "demo";

export interface Request {
  /** Null: the stream of events. */
  operation: Operation | null;
  input: Record<string, unknown>;
  key: string | undefined;
}

export interface Reply {
  status: number;
  value: object;
}

const router = new Router();
for (const operation of operations)
  router.add(operation.http.method, operation.http.path, operation as never);
router.add("GET", "/api/events/stream", null as never);

/** What a client asks for with `fetch`. */
export function requestIn(address: string, init: RequestInit): Request {
  const url = new URL(address);
  const http = { method: init.method ?? "GET", path: url.pathname, params: {} };
  const operation = router.find(http as never) as Operation | null;
  const headers = init.headers as Record<string, string>;
  const query = operation
    ? readQuery(operation, url.searchParams)
    : { after: url.searchParams.get("after") ?? undefined, types: url.searchParams.getAll("types") };
  const resume = headers["last-event-id"];
  const input = {
    ...query,
    ...(typeof init.body === "string" ? JSON.parse(init.body) : {}),
    ...http.params,
    ...(resume === undefined ? {} : { after: resume }),
  };
  return { operation, input, key: headers["idempotency-key"] };
}

const caller: Caller = {
  org,
  project,
  actor: "user:fleet",
  role: "admin",
  keysOf: "fleet",
  isElsewhere: true,
};

/** Wrong on purpose, to show that the simulation finds it. */
export type Plant = (request: Request) => Request;

export class Server {
  private executor!: Executor;
  private hub!: EventHub<string>;
  /** How clients are told that it is gone. */
  readonly exchanges = new Set<() => void>();

  constructor(
    private readonly world: World,
    readonly process: Process,
    private readonly shared: Store,
    private readonly onDefect: (what: string) => void,
    private readonly plant: Plant,
  ) {
    this.start();
  }

  /** With what the store has, and nothing else. */
  start(): void {
    const { world, process } = this;
    process.isDown = false;
    this.exchanges.clear();
    world.after(process, 0, () => {
      const store = this.storeOf(process.incarnation);
      this.executor = executorOn(store, process.name, process.incarnation, process.random);
      this.hub = new EventHub(store, (event) => frame(wireEvent(event)));
      new Housekeeping(this.executor, { orgs: () => [org], onTrouble: () => undefined });
    });
  }

  /** Changes by other servers are noticed a little later. */
  private storeOf(incarnation: number): Store {
    const { world, process, shared } = this;
    const onChange = (of: string, listener: ChangeListener) =>
      shared.onChange(of, (change) => {
        if (process.incarnation === incarnation) world.after(process, 0, () => listener(change));
      });
    return new Proxy(shared, {
      get(target, name) {
        if (name === "onChange") return onChange;
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  async answer(request: Request, gone: AbortSignal): Promise<Reply> {
    const { operation, input, key } = this.plant(request);
    const options = { idempotencyKey: key, signals: [gone] };
    try {
      const answer = await dispatch(
        this.executor,
        operation!.name as OperationName,
        { ...input },
        caller,
        options,
      );
      return { status: operation!.http.status ?? 200, value: answer as object };
    } catch (thrown) {
      const error = asRefusal(thrown);
      if (error.code === "INTERNAL")
        this.onDefect(`${operation!.name} failed: ${error.message} ${error.cause}`);
      return { status: httpStatus[error.code], value: problemBody(error) };
    }
  }

  /** Until `gone` fires. */
  async stream({ input }: Request, push: (text: string) => void, gone: AbortSignal): Promise<void> {
    const { lastSeq } = await this.hub.ends(org);
    push(`retry: 300\n: ready ${lastSeq}\n\n`);
    const after = input.after === undefined ? lastSeq : Number(input.after);
    const types = (input.types as never[]).length > 0 ? (input.types as never[]) : undefined;
    const comments = setInterval(() => push(":\n\n"), 5_000);
    onAbort(gone, () => clearInterval(comments));
    for await (const batch of this.hub.read(org, { after, project: null, types, signal: gone }))
      push(batch.join(""));
  }
}

export function executorOn(store: Store, name: string, incarnation = 0, random = new Random(name)): Executor {
  const commits = groupCommits(store);
  let ids = 0;
  const own = `${name}-${incarnation}`;
  const newId = (kind: string) => () => `${kind}-${own}-${++ids}`;
  return new Executor(store, (to, job) => commits.submit(to, job), {
    ...environment,
    newSessionId: newId("s"),
    newCorrelationId: newId("corr"),
    random: random.next,
    hostId: "fleet",
    isAlive: () => true,
  });
}
