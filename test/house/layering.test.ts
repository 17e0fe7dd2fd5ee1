import { describe, expect, test } from "vitest";
import { impurities, layeringProblems, unknownRooms } from "./layers.js";
import { expectNone, filesUnder, readSources } from "./source.js";

const sources = readSources("src");

test("every folder of src is a room of the architecture", () => {
  expectNone(unknownRooms(filesUnder("src")));
});

test("rooms import only what the architecture allows", () => {
  expectNone(layeringProblems(sources));
});

test("core has no clock, no chance and no process", () => {
  expectNone(impurities(sources));
});

describe("the checker itself", () => {
  const problems = (path: string, text: string) => layeringProblems([{ path, text }]);

  test.each([
    ["src/core/task.ts", `import { Store } from "../store/store.js";`],
    ["src/core/task.ts", `import fs from "node:fs";`],
    ["src/core/task.ts", `import fs from "fs";`],
    ["src/core/task.ts", `import type { z } from "zod";`],
    ["src/core/task.ts", `export * from "../contract/registry.js";`],
    ["src/core/task.ts", `const clock = await import("../runtime/clock.js");`],
    ["src/core/task.ts", `type Clock = import("../runtime/clock.js").Clock;`],
    ["src/contract/claim.ts", `import { Hono } from "hono";`],
    ["src/store/store.ts", `import { open } from "./sqlite/adapter.js";`],
    ["src/store/sqlite/rows.ts", `import { Model } from "../memory/model.js";`],
    ["src/store/conformance/claim.ts", `import { open } from "../sqlite/adapter.js";`],
    ["src/operations/sweep.ts", `import { group } from "../store/grouped.js";`],
    ["src/operations/sweep.ts", `import { type Clock } from "../runtime/clock.js";`],
    ["src/transfer/import.ts", `import { open } from "../store/sqlite/store.js";`],
    ["src/transfer/import.ts", `import { execute } from "../operations/execute.js";`],
    ["src/surfaces/http/app.ts", `import type { Task } from "../../core/task.js";`],
    ["src/surfaces/http/app.ts", `import { tools } from "../mcp/tools.js";`],
    ["src/client/http.ts", `import { request } from "node:http";`],
    ["src/runtime/clock.ts", `import { limits } from "../core/limits.js";`],
    ["src/demo/main.ts", `import { compose } from "../compose.js";`],
    ["src/tui/app.tsx", `import { execute } from "../operations/execute.js";`],
    ["src/index.ts", `import help from "../test/help.js";`],
  ])("refuses in %s: %s", (path, text) => {
    expect(problems(path, text)).toHaveLength(1);
  });

  test.each([
    ["src/core/transitions/claim.ts", `import { Task } from "../task.js";`],
    ["src/core/task.test.ts", `import { open } from "../store/sqlite/adapter.js";`],
    ["src/contract/claim.ts", `import { z } from "zod"; import { limits } from "../core/limits.js";`],
    ["src/store/grouped.ts", `import type { Store } from "./store.js";`],
    ["src/store/sqlite/adapter.ts", `import { DatabaseSync } from "@photostructure/sqlite";`],
    ["src/store/conformance/claim.ts", `import { test } from "vitest";`],
    ["src/operations/sweep.ts", `import type { Clock } from "../runtime/clock.js";`],
    ["src/operations/execute.ts", `import { ReadSet } from "../store/changes.js";`],
    ["src/transfer/export.ts", `import type { Store } from "../store/store.js";`],
    ["src/surfaces/http/app.ts", `import { execute } from "../../operations/execute.js";`],
    ["src/demo/main.ts", `import { open } from "../index.js"; import { join } from "node:path";`],
    ["src/program.ts", `await import("./surfaces/cli/main.js");`],
    ["src/compose.ts", `import { open } from "./store/sqlite/adapter.js";`],
  ])("allows in %s: %s", (path, text) => {
    expect(problems(path, text)).toEqual([]);
  });

  test("a message names the file, the import, the rule and the way out", () => {
    expect(problems("src/demo/main.ts", `\nimport { limits } from "../core/limits.js";`)).toEqual([
      'src/demo/main.ts:2 imports "../core/limits.js", but demo may import index.ts; no npm package; node:*. ' +
        "Instead: use what index.ts exports, as a user would; if something is missing, export it there.",
    ]);
  });

  test("an unknown folder is refused", () => {
    expect(unknownRooms(["src/utils/misc.ts", "src/store/redis/a.ts", "src/core/task.ts"])).toHaveLength(2);
  });

  test.each([
    "Date.now()",
    "new Date()",
    "Date()",
    "Math.random()",
    "process.pid",
    "setTimeout(f, 1)",
    "globalThis.Date",
  ])("core may not use %s", (expression) => {
    expect(impurities([{ path: "src/core/task.ts", text: `const x = ${expression};` }])).toHaveLength(1);
  });

  test("core may speak of clocks in comments, strings and types", () => {
    const text = `// Date.now()\nconst x = "the process. Math.random"; type At = Date; const y = { process: 1 };`;
    expect(impurities([{ path: "src/core/task.ts", text }])).toEqual([]);
  });
});
