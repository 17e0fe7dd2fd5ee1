// A fleet in the middle of its day, told through the API: agents at work, waiting and lost, a plan with dependencies, a question, a
// failure. What every view is looked at with.

import type { World } from "../http/support.js";

const agents = [
  ["ada", "claude", 67, 92],
  ["bo", "claude", 34, 78],
  ["cy", "codex", 12, 85],
  ["dot", "gemini", 81, 64],
  ["eve", "cli", 5, null],
  ["fin", "cli", null, null],
] as const;

const plan = [
  ["schema", "Design the storage schema", "high", [], "design", ["store"]],
  ["migrate", "Write the numbered migrations", "high", ["schema"], "implementation", ["store"]],
  ["rows", "Map rows to tasks and back", "medium", ["schema"], "implementation", ["store"]],
  ["api", "Serve tasks over HTTP", "critical", ["rows"], "implementation", ["api"]],
  ["auth", "Tokens, roles and the sign-in link", "critical", ["api"], "implementation", ["api", "security"]],
  ["stream", "Stream events with resume", "high", ["api"], "implementation", ["api"]],
  ["cli", "Command line over the same contract", "medium", ["api"], "implementation", ["cli"]],
  ["docs", "Explain it in the README", "low", ["cli", "stream"], "docs", ["docs"]],
  ["bench", "Measure claims against a bare loop", "low", ["migrate"], "test", ["speed"]],
  ["fuzz", "Random commands on every store", "medium", ["migrate", "rows"], "test", ["store", "speed"]],
  ["load", "A thousand streams at once", "low", ["stream"], "test", ["speed"]],
  ["parser", "Parse plans with numbering and stray prose", "medium", [], "implementation", ["cli"]],
  ["colour", "Colours that mean something", "low", ["parser"], "implementation", ["cli", "ui"]],
  ["retry", "Retry with backoff and a breaker", "high", [], "implementation", ["core"]],
  ["ageing", "Old tasks rise slowly", "medium", ["retry"], "implementation", ["core"]],
  ["export", "Export and import, byte for byte", "medium", ["rows"], "implementation", ["store"]],
  ["mcp", "Tools for agents in few tokens", "high", [], "implementation", ["mcp"]],
  ["hooks", "Hooks that renew a lease", "medium", ["mcp"], "implementation", ["mcp"]],
  ["theme", "Light and dark", "low", [], "implementation", ["ui"]],
  ["axe", "Nothing for axe to find", "medium", ["theme"], "test", ["ui"]],
] as const;

/** Ids are those of the plan above. */
export async function makeLively(world: World): Promise<void> {
  for (const [id, agentType, contextPercent, score] of agents) {
    await world.session(id, { agentType });
    const facts = {
      ...(contextPercent === null ? {} : { contextPercent }),
      ...(score === null ? {} : { score }),
    };
    await world.post(`/api/sessions/${id}/heartbeat`, facts);
  }
  await world.post("/api/tasks", {
    id: "release",
    title: "First release",
    type: "group",
    prompt: "Everything below.",
  });
  for (const [id, title, priority, dependsOn, phase, labels] of plan) {
    await world.post("/api/tasks", {
      id,
      title,
      prompt: `${title}.\n\nKeep to docs/ARCHITECTURE.md, with tests that would fail without it.`,
      priority,
      dependsOn,
      phase,
      labels,
      parentId: "release",
      files: [`src/${id}.ts`],
    });
  }
  const start = (id: string, sessionId: string) =>
    world.post(`/api/tasks/${id}/claim`, { sessionId, start: true });
  const progress = (id: string, sessionId: string, note: string, percent: number) =>
    world.post(`/api/tasks/${id}/progress`, { sessionId, note, percent });
  const finish = async (id: string, sessionId: string) => {
    await start(id, sessionId);
    await progress(id, sessionId, "tests pass", 90);
    const result = {
      output: `${id} is done: 14 tests added.`,
      filesCreated: [`src/${id}.ts`],
      filesModified: ["README.md"],
    };
    await world.post(`/api/tasks/${id}/complete`, { sessionId, result });
  };
  for (const [id, who] of [
    ["schema", "ada"],
    ["rows", "bo"],
    ["parser", "cy"],
    ["retry", "ada"],
    ["theme", "dot"],
  ] as const) {
    await finish(id, who);
  }
  await start("migrate", "ada");
  await progress("migrate", "ada", "migration 4 of 6", 66);
  await start("api", "bo");
  await progress("api", "bo", "routes done, now the refusals", 40);
  const log = "12 tests\n✓ creates a task\n✓ refuses a cycle, written out\n✗ answers 413 for a long prompt\n";
  await world.post("/api/tasks/api/log", { sessionId: "bo", text: log });
  await start("mcp", "cy");
  await world.post("/api/tasks/mcp/ask", {
    sessionId: "cy",
    question: "Should list_tasks show finished tasks by default? It costs about 400 tokens more per call.",
    options: ["Only open ones", "All of them", "Only with a flag"],
    default: "Only open ones",
  });
  await start("export", "dot");
  await world.post("/api/tasks/export/fail", {
    sessionId: "dot",
    error: "AssertionError: expected 4096 bytes, got 4095\n    at roundTrip (test/transfer.test.ts:41:12)",
    retryable: false,
  });
  await start("ageing", "eve");
}
