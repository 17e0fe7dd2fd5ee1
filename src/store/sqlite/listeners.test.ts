import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { carryOut } from "../../core/decide.js";
import { openSqliteStore } from "./store.js";

test("a commit of another process calls the listeners of every org", async () => {
  const directory = mkdtempSync(join(tmpdir(), "dibs-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const open = () => openSqliteStore(join(directory, "dibs.db"), { now: Date.now }, { brief: true });
  const [listening, other] = [await open(), await open()];
  onTestFinished(() => listening.close());
  onTestFinished(() => other.close());
  const called = new Set<string>();
  for (const org of ["first", "second", "third"]) {
    await listening.open(org, "demo");
    listening.onChange(org, () => called.add(org));
  }
  const tasks = [{ prompt: "do it" }];
  await other.commit("third", [
    (transaction) =>
      carryOut(transaction, { type: "create", project: "demo", correlationId: "c", tasks }, "system"),
  ]);
  await vi.waitFor(() => expect(called).not.toEqual(new Set()), { timeout: 90_000 });
  // SQLite cannot say whose commit it was.
  expect([...called].sort()).toEqual(["first", "second", "third"]);
});
