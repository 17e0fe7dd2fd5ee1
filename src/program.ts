// The program: picks a surface and gives it what it needs. Parts are loaded when they are used, so that a command starts quickly.

import { fileURLToPath } from "node:url";
import { errors, input, keepGoingUnread, output } from "./runtime/output.js";
import { main } from "./surfaces/cli/main.js";
import type { Parts } from "./surfaces/cli/parts.js";

const stopping = new AbortController();
const killing = new AbortController();
/** Commands that look at a signal end by themselves; all others are ended. */
const looksAt = { stopping: false, killing: false };
function stopSignal(): AbortSignal {
  looksAt.stopping = true;
  return stopping.signal;
}
for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
  process.on(signal, () => {
    const next = stopping.signal.aborted ? "killing" : "stopping";
    // Whoever asks twice does not want to wait; whoever asks three times gets no more chances.
    if (killing.signal.aborted || !looksAt[next]) process.exit(code);
    (next === "killing" ? killing : stopping).abort();
  });
}
/** Imports a module as it is, outside the bundle. */
let load: (address: string) => Promise<unknown>;

const inputBytesMax = 16 * 1024 * 1024;

async function tooMuchInput(): Promise<Error> {
  const { DibsError } = await import("./contract/error.js");
  return new DibsError("PAYLOAD_TOO_LARGE", `Standard input has more than ${inputBytesMax} bytes.`);
}

/** The functions of a module that is loaded with the first call. */
function lazily<Module extends object>(load: () => Promise<Module>) {
  type Late = {
    [Name in keyof Module]: Module[Name] extends (...given: infer Given) => infer Answer
      ? (...given: Given) => Promise<Awaited<Answer>>
      : never;
  };
  const call = async (name: string, given: unknown[]) =>
    ((await load()) as Record<string, (...given: unknown[]) => unknown>)[name]!(...given);
  return new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...given: unknown[]) =>
          call(String(name), given),
    },
  ) as Late;
}

async function* later<T>(lines: Promise<AsyncIterable<T>>): AsyncGenerator<T, void, undefined> {
  yield* await lines;
}

const parts: Parts = {
  env: process.env,
  cwd: process.cwd(),
  out: output.write,
  err: errors.write,
  stdout: output,
  stdin: input,
  askUser: async (question) => (await import("./runtime/question.js")).askUser(question),
  page: async (text) => (await import("./runtime/pager.js")).page(text, process.env),
  now: Date.now,
  get stopping() {
    return stopSignal();
  },
  get killing() {
    looksAt.killing = true;
    keepGoingUnread();
    return killing.signal;
  },
  program: [process.execPath, fileURLToPath(new URL("./bin.js", import.meta.url))],
  machine: async () => await import("./runtime/liveness.js"),
  readInput: async () => {
    const { ByteBuffer } = await import("./runtime/byte-buffer.js");
    const input = new ByteBuffer(inputBytesMax);
    for await (const chunk of process.stdin) if (!input.add(chunk)) throw await tooMuchInput();
    return input.take().toString("utf8");
  },
  readFile: async (path, bytesMax) => (await import("./runtime/read-text.js")).readText(path, bytesMax),
  files: lazily(() => import("./runtime/own-files.js")),
  health: lazily(() => import("./runtime/facts.js")),
  care: {
    backup: async (place, file) => (await import("./compose.js")).backupDibs(place, file),
    check: async (place) => (await import("./compose.js")).checkDibs(place),
    exportLines: (place) => later(import("./compose.js").then(({ exportDibs }) => exportDibs(place))),
    createTables: async (address) => (await import("./compose.js")).createTables(address),
    replayLog: async (replay) => (await import("./compose.js")).replayLog(replay),
    tableTemplate: async (address) => (await import("./compose.js")).tableTemplate(address),
    importLines: async (place, lines) => (await import("./compose.js")).importDibs(place, lines),
    linesOf: (file) => later(import("./runtime/lines.js").then(({ linesOf }) => linesOf(file))),
    writeLines: async (file, lines) => (await import("./runtime/lines.js")).writeLines(file, lines),
  },
  parentPid: process.ppid,
  processOf: async (pid) => {
    const { hostId, processStart } = await import("./runtime/liveness.js");
    const processStartedAt = processStart(pid);
    return { pid, host: hostId, ...(processStartedAt === null ? {} : { processStartedAt }) };
  },
  demo: async () => {
    const { runProgram } = await import("./runtime/program.js");
    return runProgram(new URL("./demo/main.js", import.meta.url), stopSignal());
  },
  databaseFor: async (directory) => (await import("./runtime/locate.js")).databaseFor(directory),
  trust: lazily(() => import("./trust.js")),
  makeRoomFor: async (database) => (await import("./runtime/locate.js")).makeRoomFor(database),
  findServer: async (database) => {
    const { findServer, tokenFileOf } = await import("./runtime/server-file.js");
    const server = findServer(database);
    if (!server) return null;
    const { readPrivate } = await import("./runtime/private-file.js");
    const { url, pid, project, storeId } = server;
    const token = readPrivate(tokenFileOf(database))?.trim() ?? null;
    return { url, pid, token, ...(project && { project }), ...(storeId && { storeId }) };
  },
  open: async (place, creating) =>
    (await import("./compose.js")).openDibs({ ...place, ...creating, detached: true }),
  connect: async ({ spareToken, ...server }) => {
    const { plainFetch, withSpareToken } = await import("./runtime/plain-fetch.js");
    const { connectDibs } = await import("./client/connect.js");
    return connectDibs({ ...server, fetch: withSpareToken(plainFetch, spareToken) });
  },
  signInCode: async ({ spareToken, ...server }, role) => {
    const { plainFetch, withSpareToken } = await import("./runtime/plain-fetch.js");
    const { signInCode } = await import("./client/sign-in-code.js");
    return signInCode({ ...server, fetch: withSpareToken(plainFetch, spareToken) }, role);
  },
  serve: async (request) => (await import("./serve.js")).serveDibs(request),
  serveMcp: async (request) => {
    const { serveOverStdio } = await import("./surfaces/mcp/stdio.js");
    const { version } = await import("./runtime/version.js");
    const { hostId, processStart } = await import("./runtime/liveness.js");
    const processStartedAt = processStart(process.pid);
    return serveOverStdio({
      ...request,
      version,
      stopping: stopSignal(),
      process: { pid: process.pid, host: hostId, ...(processStartedAt === null ? {} : { processStartedAt }) },
    });
  },
  hearHook: async (dibs, { event, agent }) => {
    const { hearHook } = await import("./surfaces/mcp/hooks.js");
    return hearHook(dibs, event, agent, Date.now());
  },
  endWithin: (ms) => void setTimeout(() => process.exit(0), ms).unref(),
  watch: async (request) => {
    // React's other build is slow, and remembers every frame.
    process.env.NODE_ENV = "production";
    const address = new URL("./tui/main.js", import.meta.url).href;
    const { watch } = (await load(address)) as typeof import("./tui/main.js");
    const { stdin, stdout } = process;
    const isColoured = !process.env.NO_COLOR && process.env.TERM !== "dumb";
    await watch(request, { stdin, stdout, isColoured, stopping: stopSignal() });
  },
  version: async () => (await import("./runtime/version.js")).version,
};

export function run(argv: readonly string[], loader: typeof load): Promise<number> {
  load = loader;
  return main(argv, parts);
}
