// npm run bench -- [--quick] [--only cycles,scale,…] [--json file] [--strict]
// Every speed is a ratio between things measured side by side in this run; absolute figures are for the reader.

import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { bulk } from "./bulk.mjs";
import { cli } from "./cli.mjs";
import { cycles } from "./cycles.mjs";
import { dynamodb } from "./dynamodb.mjs";
import { http } from "./http.mjs";
import { landing } from "./landing.mjs";
import { latency } from "./latency.mjs";
import { memory } from "./memory.mjs";
import { pgCycles } from "./pg-cycles.mjs";
import { pgOrgs } from "./pg-orgs.mjs";
import { pgScale } from "./pg-scale.mjs";
import { scale } from "./scale.mjs";
import { scopes } from "./scopes.mjs";

const all = {
  cycles,
  scale,
  bulk,
  latency,
  memory,
  http,
  cli,
  landing,
  scopes,
  "pg-cycles": pgCycles,
  "pg-scale": pgScale,
  "pg-orgs": pgOrgs,
  dynamodb,
};

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
    strict: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(`npm run bench -- [--quick] [--only ${Object.keys(all).join(",")}] [--json file] [--strict]`);
  console.log("A missed ratio does not fail the run, except with --strict.");
  process.exit(0);
}

const chosen = values.only ? values.only.split(",") : Object.keys(all);
const results = { node: process.version, cores: cpus().length, quick: values.quick, benchmarks: {} };
let missed = 0;

for (const name of chosen) {
  if (!all[name]) {
    console.error(`There is no benchmark ${name}; known are ${Object.keys(all).join(", ")}.`);
    process.exit(2);
  }
  console.log(`${name} …`);
  const { checks, ...figures } = await all[name]({ quick: values.quick, log: console.log });
  console.log(JSON.stringify(figures, (key, value) => (key === "samples" ? undefined : value), 2));
  for (const check of checks) {
    check.met = check.atLeast === undefined ? check.ratio <= check.atMost : check.ratio >= check.atLeast;
    if (!check.met) missed++;
    const wanted = check.atLeast === undefined ? `at most ${check.atMost}` : `at least ${check.atLeast}`;
    console.log(`${check.met ? "met   " : "MISSED"} ${check.name}: ${check.ratio} (${wanted})`);
  }
  results.benchmarks[name] = { ...figures, checks };
}

if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
console.log(missed === 0 ? "all ratios met" : `ratios missed: ${missed}`);
process.exit(values.strict && missed > 0 ? 1 : 0);
