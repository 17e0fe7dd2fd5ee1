import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { reasonCodes } from "../../src/core/explain.js";
import { type Code, claimPrecedence, holderPrecedence, refusals } from "../../src/core/refusal.js";
import { codeTable, operationPages, part, stateMatrix } from "./generated.js";
import { commandPages, eventTable, metricTable, toolPages } from "./reference.js";

const parts: [file: string, name: string, tell: () => string | Promise<string>][] = [
  ["docs/concepts/states.md", "matrix", stateMatrix],
  ["docs/reference/cli.md", "commands", commandPages],
  ["docs/reference/errors.md", "codes", codeTable],
  ["docs/reference/events.md", "events", eventTable],
  ["docs/reference/http.md", "operations", operationPages],
  ["docs/reference/mcp.md", "tools", toolPages],
  ["docs/reference/metrics.md", "metrics", metricTable],
];

describe("the documentation says what the code does", () => {
  for (const [file, name, tell] of parts) {
    test(`${file}: ${name} (to update it: npm run docs)`, async () => {
      const fresh = await tell();
      if (process.env.DIBS_WRITE_DOCS) part(file, name).replace(fresh);
      expect(part(file, name).text).toBe(fresh);
    });
  }

  test.each(["docs/concepts/states.md", "docs/guides/troubleshooting.md"])(
    "%s names every reason of explain",
    (page) => {
      const text = readFileSync(page, "utf8");
      for (const word of reasonCodes) expect(text).toContain(`\`${word}\``);
    },
  );

  test("docs/reference/errors.md writes the order of refusals as the code tests them", () => {
    const text = readFileSync("docs/reference/errors.md", "utf8");
    for (const order of [holderPrecedence, claimPrecedence]) {
      expect(text).toContain(order.map((code) => `\`${code}\``).join(" → "));
    }
  });

  test("every operation refuses only with codes that exist, and each path, command and name is used once", () => {
    const known = new Set(Object.keys(refusals));
    for (const { refusals: refused } of operations) {
      for (const code of refused) expect(known.has(code satisfies Code)).toBe(true);
    }
    const paths = operations.map(({ http }) => `${http.method} ${http.path}`);
    expect(new Set(paths).size).toBe(paths.length);
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
  });
});
