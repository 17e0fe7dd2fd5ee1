// What people see of `run` and `work`, at 80 columns without colour. Both start processes: the story is told by the built program.
// `npx vitest run test/cli/golden-runner.test.ts -u` writes the file anew: look at what changed.

import { expect, test } from "vitest";
import { ways } from "./desk.js";
import { type Place, placeWithStore } from "./run-place.js";

const lines = [
  'run --bare-prompt --prompt "Fix the build" -- cat',
  "show 0001 --log",
  'run --prompt "Fail" --title "It cannot" -- sh -c "echo on the way; exit 3"',
  'run --prompt "Quietly" -q -- sh -c "echo unseen"',
  "run --task 0099 -- cat",
  "run --task 0001 -- cat",
  "run -- cat",
  "run --prompt x -- ./no-such-program",
  "lock acquire build --pid 1",
  "run --prompt later --lock build --on-conflict queue -- cat",
  "run --prompt now --lock build --on-conflict exit -- cat",
  "work --once --bare-prompt -- cat",
  "work --once -- cat",
  'add "First" --id first',
  'add "Second" -d first',
  "work --until-empty --bare-prompt -- cat",
  "work --",
  "work --agent unknown",
];

async function told(place: Place, line: string): Promise<string> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
  const { code, out, err } = await place.dibs(words);
  // What happens meanwhile is told on stderr, what came of it on stdout.
  return `$ dibs ${line}\n${err}${out}${code === 0 ? "" : `[exit ${code}]\n`}`;
}

test.each(ways)("the story of the runner, %s", async (way) => {
  const place = await placeWithStore(way);
  const story: string[] = [];
  for (const line of lines) story.push(await told(place, line));
  const text = story.join("\n").replaceAll(place.cwd, "/shop");
  await expect(text.replaceAll(/(?<= attempts in )\d+\w/g, "Ns")).toMatchFileSnapshot("golden/runner.txt");
});
