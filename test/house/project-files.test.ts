// The files that a repository is expected to have, held against the program.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { expectNone, filesUnder, readSources, root } from "./source.js";
import { yaml } from "./yaml.js";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json"));

interface Job {
  needs?: string | string[];
  "timeout-minutes": number;
  strategy?: { matrix: Record<string, unknown[]> };
  steps: { uses?: string; run?: string }[];
}

const workflows = ["ci", "release"].map((name) => `.github/workflows/${name}.yml`);
const jobsOf = (path: string): Record<string, Job> => yaml(read(path)).jobs;

describe("workflows", () => {
  test("test every supported Node on Linux and macOS, and every supported PostgreSQL", () => {
    const { test: nodes, postgres } = jobsOf(".github/workflows/ci.yml");
    expect(nodes!.strategy!.matrix).toEqual({ os: ["ubuntu-latest", "macos-latest"], node: [20, 22, 24] });
    expect(postgres!.strategy!.matrix).toEqual({ postgres: [15, 16, 17, 18] });
  });

  test("release by tag, after the tests, if the tag is the version of the package", () => {
    const release = yaml(read(".github/workflows/release.yml"));
    expect(release.on.push.tags).toEqual(["v*"]);
    const commands = jobsOf(".github/workflows/release.yml").pack!.steps.map(({ run }) => run ?? "");
    expect(commands).toEqual(expect.arrayContaining(["npm test", "npm pack"]));
    expect(commands.some((command) => /GITHUB_REF_NAME.*package\.json.*version/.test(command))).toBe(true);
    expect(release.jobs.release.needs).toBe("pack");
    expect(release.jobs.publish.needs).toBe("pack");
  });

  test.each(workflows)(
    "%s gives few permissions, bounds every job, and names scripts and jobs that exist",
    (path) => {
      expect(yaml(read(path)).permissions).toEqual({ contents: "read" });
      const jobs = jobsOf(path);
      for (const [name, job] of Object.entries(jobs)) {
        expect(job["timeout-minutes"], name).toBeGreaterThan(0);
        for (const needed of [job.needs ?? []].flat()) expect(jobs).toHaveProperty(needed);
        for (const { uses, run } of job.steps) {
          if (uses) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
          for (const [, script] of (run ?? "").matchAll(/npm run ([\w:-]+)/g)) {
            expect(manifest.scripts).toHaveProperty(script!);
          }
        }
      }
    },
  );
});

test("issue forms have a name, a description and fields with their own ids", () => {
  for (const name of ["bug", "feature"]) {
    const form = yaml(read(`.github/ISSUE_TEMPLATE/${name}.yml`));
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    const ids = form.body.flatMap(({ id }: { id?: string }) => id ?? []);
    expect(ids.length).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(ids.length);
  }
  expect(yaml(read(".github/ISSUE_TEMPLATE/config.yml"))).toHaveProperty("blank_issues_enabled");
});

test(".nvmrc is the oldest Node that the package supports", () => {
  expect(manifest.engines.node).toMatch(new RegExp(`^>=${read(".nvmrc").trim()}\\.`));
});

test("CODEOWNERS names folders that exist", () => {
  const folders = [...read(".github/CODEOWNERS").matchAll(/^\/(\S+)\//gm)].map(([, folder]) => folder!);
  expect(folders.filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
});

describe("CONTRIBUTING.md", () => {
  const text = read("CONTRIBUTING.md");

  test("lists every variable that only tests and scripts read", () => {
    const inProgram = readSources("src")
      .map((source) => source.text)
      .join("\n");
    const code = [...filesUnder("test"), ...filesUnder("scripts"), "vitest.config.ts"].filter((path) =>
      /\.(ts|mjs)$/.test(path),
    );
    const used = code.flatMap((path) => read(path).match(/(?<=\benv\.)(?:DIBS|TEST)_[A-Z_]+/g) ?? []);
    const missing = [...new Set(used)].filter(
      (name) => !inProgram.includes(name) && !text.includes(`\`${name}\``),
    );
    expectNone(
      missing.map((name) => `CONTRIBUTING.md does not explain ${name}. Add it to the table of variables.`),
    );
  });

  test("names scripts and files that exist", () => {
    for (const [, script] of text.matchAll(/npm run ([\w:]+)/g)) {
      expect(manifest.scripts).toHaveProperty(script!);
    }
    const named = [...text.matchAll(/(?<![\w./])((?:test|src|docs|\.github)\/[\w./-]+\.(?:ts|md))/g)];
    expect(named.map(([, path]) => path!).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test("SECURITY.md and CODE_OF_CONDUCT.md contain no address that does not exist yet", () => {
  for (const path of ["SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "package.json"]) {
    expect(read(path)).not.toMatch(/https?:\/\/|[\w.]+@[\w-]+\.[a-z]{2,}/);
  }
});

describe("ops/dibs.service", () => {
  const unit = read("ops/dibs.service");
  const settings = Object.fromEntries(
    [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );

  test("runs the server without root, in a directory of its own, and starts it again after a crash", () => {
    expect(settings).toMatchObject({
      ExecStart: expect.stringMatching(/ dibs serve$/),
      DynamicUser: "yes",
      StateDirectory: "dibs",
      Restart: "on-failure",
      ProtectSystem: "strict",
    });
    expect(settings.MemoryDenyWriteExecute).toBeUndefined();
  });

  test("sets only variables that the program reads", () => {
    const program = readSources("src")
      .map(({ text }) => text)
      .join("\n");
    const named = [...`${settings.Environment} ${read("Dockerfile")}`.matchAll(/\b(DIBS_[A-Z_]+)=/g)];
    expect(named.length).toBeGreaterThan(3);
    for (const [, name] of named) expect(program).toContain(`env.${name}`);
  });
});

test("ops/Caddyfile forwards to the port of the server and says how to allow its name", () => {
  const text = read("ops/Caddyfile");
  expect(text).toMatch(/^dibs\.example\.com \{\n\treverse_proxy 127\.0\.0\.1:3427\n/m);
  expect(text).toContain("--allow-host dibs.example.com");
  expect(text.split("{").length).toBe(text.split("}").length);
});
