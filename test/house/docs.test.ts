import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { reasonCodes } from "../../src/core/explain.js";
import { defaultSettings } from "../../src/core/project.js";
import { type Code, claimPrecedence, holderPrecedence, refusals } from "../../src/core/refusal.js";
import { concurrencyMax } from "../../src/runner/work.js";
import { configKeys, taskVariables, variables } from "../../src/surfaces/cli/settings.js";
import {
  codeTable,
  configTable,
  operationPages,
  part,
  projectSettings,
  projectSettingsTable,
  stateMatrix,
  taskVariablesTable,
  variablesTable,
} from "./generated.js";
import { commandPages, eventTable, metricTable, toolPages } from "./reference.js";
import { expectNone, filesUnder } from "./source.js";

const parts: [file: string, name: string, tell: () => string | Promise<string>][] = [
  ["docs/concepts/states.md", "matrix", stateMatrix],
  ["docs/reference/cli.md", "commands", commandPages],
  ["docs/reference/errors.md", "codes", codeTable],
  ["docs/reference/events.md", "events", eventTable],
  ["docs/reference/http.md", "operations", operationPages],
  ["docs/reference/mcp.md", "tools", toolPages],
  ["docs/reference/metrics.md", "metrics", metricTable],
  ["docs/reference/settings.md", "project settings", projectSettingsTable],
  ["docs/reference/settings.md", "variables", variablesTable],
  ["docs/reference/settings.md", "task variables", taskVariablesTable],
  ["docs/reference/settings.md", "config", configTable],
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

  test("docs/reference/settings.md has every environment variable that the program names", () => {
    const known = new Set([...Object.keys(variables), ...Object.keys(taskVariables)]);
    const problems = [...filesUnder("src"), ...filesUnder("web/src")].flatMap((path) => {
      const names = readFileSync(path, "utf8").match(/\bDIBS_[A-Z][A-Z_]*/g) ?? [];
      return [...new Set(names)]
        .filter((name) => !known.has(name))
        .map((name) => `${path} names ${name}: add it to src/surfaces/cli/settings.ts, then npm run docs.`);
    });
    expectNone(problems);
  });

  test("every setting of a project is described, and has a default", () => {
    for (const { name, schema, default: usual } of projectSettings()) {
      expect(schema.description, name).toBeTruthy();
      expect(usual, name).toBeDefined();
    }
    const names = Object.entries(defaultSettings).flatMap(([group, value]) =>
      // Units by resource have no names of their own.
      typeof value === "object" && group !== "uses"
        ? Object.keys(value).map((key) => `${group}.${key}`)
        : [group],
    );
    expect(
      projectSettings()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.sort());
    expect(configKeys.concurrency.values).toBe(`1 to ${concurrencyMax}`);
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
