import { expect, test } from "vitest";
import { proposedCheck } from "./check-proposals.js";

const proposed = async (files: Record<string, string>) => proposedCheck(async (name) => files[name] ?? null);
const runOf = async (files: Record<string, string>) => (await proposed(files))?.check.run.join(" ") ?? null;
const scripts = (test: unknown) => JSON.stringify({ scripts: { test } });

test.each([
  ["package.json", scripts("vitest run"), "npm test"],
  ["package.json", scripts('echo "Error: no test specified" && exit 1'), null],
  ["package.json", scripts(1), null],
  ["package.json", "{}", null],
  ["package.json", "null", null],
  ["package.json", "not JSON", null],
  ["Cargo.toml", "", "cargo test"],
  ["go.mod", "module shop", "go test ./..."],
  ["pytest.ini", "", "pytest"],
  ["pyproject.toml", "[tool.pytest.ini_options]\n", "pytest"],
  ["pyproject.toml", "[project]\nname = 'shop'\n", null],
  ["tox.ini", "[testenv]\ncommands = pytest\n", "pytest"],
  ["Makefile", "build:\n\tcc\n\ntest: build\n\t./run\n", "make test"],
  ["Makefile", "test := x\nlatest:\n\tcc\n", null],
  ["Makefile", "all:\n\techo test: no\n", null],
  ["README.md", "npm test", null],
])("%s %j suggests %s", async (name, text, run) => {
  expect(await runOf({ [name]: text })).toBe(run);
});

test("the first one counts, and npm's setup goes with it where there is a lockfile", async () => {
  const files = { "package.json": scripts("node --test"), Makefile: "test:\n\tmake -C x\n" };
  expect(await proposed(files)).toEqual({ check: { name: "test", run: ["npm", "test"] }, setup: null });
  expect(await proposed({ ...files, "package-lock.json": "{}" })).toMatchObject({
    setup: { run: ["npm", "ci"], paths: ["package.json", "package-lock.json"] },
  });
  expect(await proposed({ "go.mod": "", "package-lock.json": "{}" })).toMatchObject({ setup: null });
});
