// What the dashboard and the alerts ask for must be what we tell.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Family } from "../../src/operations/metrics/exposition.js";
import { storeFamilies } from "../../src/operations/metrics/families.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { org, Teller } from "../metrics/support.js";
import { expectNone, root } from "./source.js";

/** What the HTTP server tells of itself, beside what it tells of the store. */
const ofTheServer = [
  { name: "dibs_sse_clients", type: "gauge", labels: [] },
  { name: "dibs_stale_writes_refused_total", type: "counter", labels: [] },
  { name: "dibs_store_seconds", type: "histogram", labels: ["operation", "le"] },
  { name: "dibs_http_request_seconds", type: "histogram", labels: ["route", "method", "status", "le"] },
];
const ofPrometheus = [{ name: "up", type: "gauge", labels: [] }];
const fromScraping = ["job", "instance"];

async function exposed(): Promise<Map<string, string[]>> {
  const store = openMemoryStore(new TestClock());
  await store.open(org, "demo");
  const teller = new Teller(store);
  await teller.call("resources.set", { id: "db" });
  const labelsOf = ({ samples }: Family) => samples.flatMap(({ labels }) => Object.keys(labels));
  const ofTheStore = (await storeFamilies(teller.executor, org)).map((family) => ({
    name: family.name,
    type: family.type as string,
    labels: labelsOf(family),
  }));
  const found = new Map<string, string[]>();
  for (const { name, type, labels } of [...ofTheStore, ...ofTheServer, ...ofPrometheus]) {
    const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    for (const suffix of suffixes) found.set(name + suffix, [...labels, ...fromScraping]);
  }
  return found;
}

const words = new Set(["and", "or", "unless", "on", "by", "without", "ignoring", "bool", "offset"]);

/** The metrics of an expression with the labels that it asks of each, and the labels that it groups by. */
function askedBy(expression: string) {
  const plain = expression.replace(/"[^"]*"/g, '""').replace(/\[[^\]]*\]/g, "");
  const grouped = [...plain.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(",").map((label) => label.trim()),
  );
  const ungrouped = plain.replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, " ");
  const metrics = [...ungrouped.matchAll(/(?<![\w.$])([a-z_][a-z0-9_]*)\b(?!\s*\()(?:\{([^}]*)\})?/g)]
    .filter(([, name]) => !words.has(name!))
    .map(([, name, matchers = ""]) => ({
      name: name!,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
    }));
  return { metrics, grouped };
}

async function problemsIn(file: string, expressions: string[]): Promise<string[]> {
  const known = await exposed();
  return expressions.flatMap((expression) => {
    const { metrics, grouped } = askedBy(expression);
    const unknown = metrics.filter(({ name }) => !known.has(name)).map(({ name }) => name);
    const ofThese = new Set(metrics.flatMap(({ name }) => known.get(name) ?? []));
    const wrong = metrics.flatMap(({ name, labels }) =>
      labels.filter((label) => !known.get(name)?.includes(label)).map((label) => `${name}{${label}}`),
    );
    const foreign = grouped.filter((label) => !ofThese.has(label));
    const none = metrics.length === 0 ? ["no metric at all"] : [];
    return [...unknown, ...wrong, ...foreign, ...none].map(
      (each) => `${file} asks for ${each}, which we do not tell: ${expression}`,
    );
  });
}

const read = (file: string) => readFileSync(join(root, file), "utf8");

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; refId: string }[];
}

describe("ops/grafana-dashboard.json", () => {
  const dashboard = JSON.parse(read("ops/grafana-dashboard.json"));
  const panels: Panel[] = dashboard.panels;

  test("asks for nothing that we do not tell", async () => {
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expectNone(await problemsIn("ops/grafana-dashboard.json", expressions));
  });

  test("can be imported: a data source to choose, panels that do not overlap, each with something to show", () => {
    const variables = dashboard.templating.list.map(({ name, type }: Record<string, string>) => [name, type]);
    expect(variables).toContainEqual(["datasource", "datasource"]);
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = new Set<string>();
    for (const { type, title, gridPos, targets } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      if (type !== "row") expect(targets?.length, title).toBeGreaterThan(0);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells.has(`${x}/${y}`), title).toBe(false);
          cells.add(`${x}/${y}`);
        }
      }
    }
  });

  test("shows everything that we tell", async () => {
    const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
    const names = [...(await exposed()).keys()]
      .filter((name) => name !== "up")
      .map((name) => name.replace(/_(bucket|sum|count)$/, ""));
    expectNone(
      [...new Set(names)].filter((name) => !shown.includes(name)).map((name) => `no panel shows ${name}`),
    );
  });
});

describe("ops/alerts.yml", () => {
  const text = read("ops/alerts.yml");
  const rules = text.split(/^ {6}- alert: /m).slice(1);

  test("asks for nothing that we do not tell", async () => {
    const expressions = [...text.matchAll(/^ {8}expr: (.*)$/gm)].map(([, expression]) => expression!);
    expect(expressions).toHaveLength(rules.length);
    expectNone(await problemsIn("ops/alerts.yml", expressions));
  });

  test("says of each alert how long, how bad, and what to do", () => {
    expect(rules.length).toBeGreaterThanOrEqual(4);
    for (const rule of rules) {
      for (const part of [
        /^ {8}for: \d+[smh]$/m,
        /severity: (warning|critical)$/m,
        /summary: ./,
        /description: ./,
      ]) {
        expect(rule).toMatch(part);
      }
    }
  });
});

test("an expression is taken apart rightly", () => {
  const expression = `histogram_quantile(0.95, max by (le, x) (rate(a_bucket{job="$job",b!="c"}[5m]))) > 1e3 and on (job) up == 0`;
  expect(askedBy(expression)).toEqual({
    metrics: [
      { name: "a_bucket", labels: ["job", "b"] },
      { name: "up", labels: [] },
    ],
    grouped: ["le", "x", "job"],
  });
});
