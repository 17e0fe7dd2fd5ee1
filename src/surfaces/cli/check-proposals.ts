// Checks and setup that a repository suggests by its files.

import type { WireProject } from "../../contract/shapes.js";

type Land = WireProject["settings"]["land"];

export interface Proposal {
  check: { name: string; run: string[] };
  /** What the check needs, where it is known. */
  setup: NonNullable<Land["setup"]> | null;
}

/** The text of a file in the root of the repository; null: there is none. */
type Read = (name: string) => Promise<string | null>;

/** The first that is found. */
export async function proposedCheck(read: Read): Promise<Proposal | null> {
  for (const find of finders) {
    const run = await find(read);
    if (run === null) continue;
    const setup = run[0] === "npm" ? await npmSetup(read) : null;
    return { check: { name: "test", run }, setup };
  }
  return null;
}

type Finder = (read: Read) => Promise<string[] | null>;

const finders: Finder[] = [
  async (read) => (hasTestScript(await read("package.json")) ? ["npm", "test"] : null),
  async (read) => ((await read("Cargo.toml")) === null ? null : ["cargo", "test"]),
  async (read) => ((await read("go.mod")) === null ? null : ["go", "test", "./..."]),
  async (read) => ((await usesPytest(read)) ? ["pytest"] : null),
  async (read) => (/^test[ \t]*:(?!=)/m.test((await read("Makefile")) ?? "") ? ["make", "test"] : null),
];

/** `npm init` writes a script that only fails. */
function hasTestScript(text: string | null): boolean {
  try {
    const test: unknown = JSON.parse(text ?? "null")?.scripts?.test;
    return typeof test === "string" && test.trim() !== "" && !test.includes("no test specified");
  } catch {
    return false;
  }
}

async function usesPytest(read: Read): Promise<boolean> {
  if ((await read("pytest.ini")) !== null) return true;
  for (const name of ["pyproject.toml", "tox.ini"])
    if (/\bpytest\b/.test((await read(name)) ?? "")) return true;
  return false;
}

async function npmSetup(read: Read): Promise<Proposal["setup"]> {
  if ((await read("package-lock.json")) === null) return null;
  return { run: ["npm", "ci"], paths: ["package.json", "package-lock.json"] };
}
