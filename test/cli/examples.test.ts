// Every example of every help page, run by a shell as it is printed: in a repository with tasks, with the built program, a server
// or a database where the example needs one, and small scripts for the agents.

import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/compose.js";
import { databaseFor } from "../../src/runtime/locate.js";
import type { SingleCommand } from "../../src/surfaces/cli/command.js";
import { entries } from "../../src/surfaces/cli/commands.js";
import { hasNoLocal } from "../dynamodb/local.js";
import { afterwards, until } from "../support.js";
import { further, inShell, type Prepared, preparations, prepareAll, stops } from "./examples.js";
import { sitAt } from "./pty.js";
import { openPlace } from "./run-place.js";

const commands: SingleCommand[] = [];
for (const [name, { load }] of entries) {
  const command = (await load())[name]!;
  commands.push(...("parts" in command ? Object.values(command.parts) : [command]));
}

/** Faster than by default, and next to other servers. */
const env = { DIBS_DEMO_SPEED: "0.05", DIBS_PORT: "0" };

async function prepare(name: string, example: string): Promise<Prepared> {
  const place = await openPlace();
  const dibs = await openDibs({ path: databaseFor(place.cwd) });
  const prepared = { place, dibs, env: { ...env } };
  afterwards(() => dibs.close());
  await prepareAll(prepared);
  await preparations[name]?.(prepared);
  await (further[name] ?? (example.includes("--hold") ? further["spool --until-empty"] : undefined))?.(
    prepared,
  );
  return prepared;
}

async function watch({ place, env }: Prepared, example: string): Promise<number> {
  const terminal = sitAt(place, inShell(example), { env });
  await until("the view is drawn", () => /q quit|\? help|Inbox/i.test(terminal.text));
  terminal.press("q");
  return terminal.ended;
}

/** Its exit code, and what it printed on stderr. */
async function run(prepared: Prepared, example: string): Promise<[number | null, string]> {
  const { place, dibs, env } = prepared;
  const [file = "", ...args] = inShell(example);
  const running = place.start(file, args, { env });
  if (example.startsWith("dibs ask --wait")) {
    await until("the question is open", async () => {
      return (await dibs.tasks.get({ taskId: "0001" })).task.state === "awaiting_response";
    });
    await dibs.tasks.respond({ taskId: "0001", response: "yes" });
  }
  const stop = Object.entries(stops).find(([start]) => example.startsWith(start))?.[1];
  const ends = /--once|--until|--remove|--dry-run/.test(example);
  if (stop && !ends) {
    await stop(running, prepared);
    running.signal("SIGTERM");
  }
  const { code, err } = await running.ended;
  return [code, err];
}

describe.each(commands.map((command) => [command.name, command.examples ?? []] as const))(
  "dibs %s --help: the example",
  (name, examples) => {
    test.skipIf(hasNoLocal && name.startsWith("db ")).each(examples)("%s", async (example) => {
      const prepared = await prepare(name, example);
      if (name === "watch") expect(await watch(prepared, example)).toBe(0);
      else {
        const [code, err] = await run(prepared, example);
        expect(code, err).toBe(0);
      }
    });
  },
);
