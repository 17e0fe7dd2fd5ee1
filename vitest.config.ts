import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take longest. What is long and comes last is waited for by an idle core. */
const longest = [
  "test/lander/crashes",
  "test/transfer/round-trip",
  "test/cli/examples",
  "test/lander/",
  "test/cli/hand-in",
  "test/cli/land",
  "test/postgres/conformance",
  "test/dynamodb/conformance",
  "test/dynamodb/kills",
  "test/package/",
  "test/http/streams-exact",
  "test/http/security-",
  "test/faults/bad-types",
  "test/faults/server-stalled",
  "test/faults/many-processes",
  "test/docs/commands",
  "test/browser/",
  "test/cli/every",
  "test/cli/trust",
  "test/cli/purge",
  "test/mcp/liveness",
  "test/proof/",
  "test/simulation/",
  "test/cli/run-",
  "test/runner/",
  "test/mcp/",
  "test/postgres/",
  "src/store/sqlite/store",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((name) => moduleId.includes(name));
      return at === -1 ? longest.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: process.env.TEST_QUICK
      ? []
      : ["test/postgres/global-setup.ts", "test/dynamodb/global-setup.ts"],
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    // Files share a process, one after the other: loading the program again for each took an eighth of the time. So helpers
    // register hooks when they are called, not when they are loaded; test/setup.ts is loaded for each file.
    isolate: false,
    // One more than cores: many tests wait for processes and servers of theirs.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // A machine with other work to do is slow, not wrong.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
