// What is wrong with a flag is said about the flag, in the units that were typed; never in the validator's words.

import { describe, expect, test } from "vitest";
import { openDesk, ways } from "./desk.js";

const session = ["--session", "a"];
const long = "x".repeat(5_000);

const refused: [string[], string][] = [
  [["claim", "--ttl", "5ms", ...session], "--ttl must be between 1m and 2h, not 5ms."],
  [["claim", "0001", "--ttl", "3h", ...session], "--ttl must be between 1m and 2h, not 3h."],
  [
    ["heartbeat", "0001", "--extend", "1s", "--session", "holder"],
    "--extend must be between 1m and 2h, not 1s.",
  ],
  [["add", "One", "--max-retries", "1.5"], "--max-retries must be a whole number."],
  [["add", "One", "--max-retries=-1"], "--max-retries must be at least 0."],
  [["add", "One", "--timeout", "9000d"], "--timeout must be at most 3650d."],
  [
    ["add", "One", "-p", "urgent"],
    "--priority must be a number from 0 to 100, p1 to p5, or critical, high, medium, normal or low.",
  ],
  [["add", "One", "-l", long], "--label must have at most 128 characters."],
  [
    ["add", "One", "--id", "no/slash"],
    "--id can only have letters, digits, '.', '_' and '-', and must start with a letter or digit.",
  ],
  [["list", "--limit", "0"], "--limit must be at least 1."],
  [["list", "--label"], "--label needs a value: <text>."],
  [["list", "--json=1"], "--json takes no value."],
  [["list", "--nope"], "Unknown flag --nope."],
  [["add", "One", "-p", "-1"], "--priority needs a value: <0-100|word>."],
  [["add", "One", "--metadata", "{"], "--metadata is not valid JSON."],
  [["add", "One", "--metadata", "[]"], "--metadata must be an object."],
  [["add", "One", "--not-before", "tomorrow"], "--not-before must be a time or a duration, not 'tomorrow'."],
  [["add", "One", "--id", "batch"], "Id 'batch' is reserved for addresses of the API; choose another."],
  [
    ["add", "One", "--id", "0077"],
    "Id '0077' has the form of a generated id; write 'task-0077', or reserve one: dibs next-id.",
  ],
  [
    ["project", "create", "no spaces"],
    "<project> can only have letters, digits, '.', '_' and '-', and must start with a letter or digit.",
  ],
  [["events", "--after=-1"], "--after must be at least 0."],
  [["progress", "0001", "half", "--percent", "101", "--session", "holder"], "--percent must be at most 100."],
  [
    ["show", "../etc"],
    "<id> can only have letters, digits, '.', '_' and '-', and must start with a letter or digit.",
  ],
  [["project", "set", "claim.nonsense", "1"], "Unknown setting claim.nonsense."],
  [["project", "set", "nonsense", "1"], "Unknown setting nonsense."],
  [["project", "set", "claim.minTtlMs", "5h"], "claim.minTtlMs must be at most claim.maxTtlMs (2h), not 5h."],
  [["project", "set", "maxRetries", "many"], "maxRetries must be a number."],
];

describe.each(ways)("%s", (way) => {
  test("a refused value is named as it was typed", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["add", "Two"]);
    await desk.says(["claim", "0001", "--session", "holder"]);
    for (const [argv, message] of refused) {
      const { code, err } = await desk.dibs(argv);
      expect([code, err.split("\n")[0]], argv.join(" ").slice(0, 80)).toEqual([
        2,
        `dibs: ${message} (VALIDATION_FAILED)`,
      ]);
    }
  });

  test("a flag at the end without its value", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    for (const argv of [
      ["show", "--commit"],
      ["list", "--label"],
      ["list", "-l"],
    ]) {
      const { err } = await desk.dibs(argv);
      expect(err).toMatch(/ needs a value: <\w+>\. .*\nRun: dibs \w+ --help\.\n$/);
    }
    expect((await desk.dibs(["add", "One", "-p", "-1"])).err).toContain("--priority=-1");
  });

  test("programs get the fields of the API", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    const { message, issues } = await desk.json(["list", "--limit", "0"]);
    expect(message).toMatch(/^limit must be at least 1\.$/);
    expect(issues).toEqual([{ path: "limit", message: "must be at least 1" }]);
  });
});
