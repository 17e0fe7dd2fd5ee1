import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { hostId, isAlive, processStart } from "../../src/runtime/liveness.js";
import { afterwards, Child, tempFile, until } from "./support.js";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

describe("whether a process is alive", () => {
  test("this one is, as the process that started then", () => {
    const start = processStart(process.pid);
    expect(start).not.toBeNull();
    expect(isAlive(process.pid, start)).toBe(true);
    expect(isAlive(process.pid, null)).toBe(true);
  });

  test("a pid that another process has now is not the process that was", () => {
    expect(isAlive(process.pid, "1")).toBe(false);
  });

  test("a process that has ended is dead", async () => {
    const child = new Child("client.mjs", { path: tempFile() });
    await child.said("ready");
    const start = processStart(child.pid);
    expect(isAlive(child.pid, start)).toBe(true);
    await child.kill();
    expect(isAlive(child.pid, start)).toBe(false);
    expect(isAlive(child.pid, null)).toBe(false);
  });

  test("a stopped process is alive", async () => {
    const child = new Child("client.mjs", { path: tempFile() });
    await child.said("ready");
    child.signal("SIGSTOP");
    await until("it is stopped", () => stateOf(child.pid) === "T");
    expect(isAlive(child.pid, processStart(child.pid))).toBe(true);
  });

  test("a zombie is dead", async () => {
    // The shell becomes a sleep, which never asks how its child ended.
    const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 61"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const over = once(parent, "exit");
    afterwards(async () => {
      parent.kill("SIGKILL");
      await over;
    });
    const [line] = await once(parent.stdout!, "data");
    const zombie = Number(String(line));
    const commandOf = (pid: number) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
    await until("both are sleeps", () => [parent.pid!, zombie].every((pid) => commandOf(pid) === "sleep"));
    expect(isAlive(zombie, processStart(zombie))).toBe(true);
    process.kill(zombie, "SIGKILL");
    await until("it is a zombie", () => stateOf(zombie) === "Z");
    expect(isAlive(zombie, processStart(zombie))).toBe(false);
    expect(isAlive(zombie, null)).toBe(false);
  });

  test("a process of another user is alive although we may not signal it", async () => {
    if (!isRoot) {
      expect(() => process.kill(1, 0)).toThrow(expect.objectContaining({ code: "EPERM" }));
      expect(isAlive(1, null)).toBe(true);
      return;
    }
    const child = new Child("liveness.mjs", { uid: nobody, pid: process.pid });
    const seen = await child.said("seen");
    expect(seen).toMatchObject({ code: "EPERM", alive: true, withoutStart: true, reused: false });
  });

  test("the host is named by boot and pid namespace, not by its name alone", () => {
    expect(hostId).toContain(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    expect(hostId).toMatch(/\/\d{5,}\/[0-9a-f]{16}$/);
  });
});

function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2)[0]!;
}
