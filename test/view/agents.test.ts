import { expect, test } from "vitest";
import { agentName, hasSeveralHosts } from "../../src/client/view/agents.js";

const session = (name: string | null, host: string | null = "boot-1/1") => ({ id: "run-7-ab", name, host });

test("agents of one host are called by their name alone, those of several by name and host", () => {
  expect(hasSeveralHosts([session("a"), session("b"), session(null, null)])).toBe(false);
  expect(hasSeveralHosts([session("a"), session("b", "boot-2/1")])).toBe(true);
  expect(agentName(session("claude-1@laptop"), false)).toBe("claude-1");
  expect(agentName(session("claude-1@laptop"), true)).toBe("claude-1@laptop");
  expect(agentName(session("builder"), false)).toBe("builder");
  expect(agentName(session("builder"), true)).toBe("builder on boot-1/1");
  expect(agentName(session(null, null), true)).toBe("run-7-ab");
});
