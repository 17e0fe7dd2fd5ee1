import { expect, test } from "vitest";
import { stateCondition } from "./state-condition.js";

test("held tasks are looked up once, not once per task", () => {
  for (const states of [["claimed", "running"], ["awaiting_response"]] as const) {
    const { text, values } = stateCondition(states, { claims: "claim", states: "task", org: "acme" });
    const [, lookedUp] = /^t\.no IN \((.*)\)$/s.exec(text)!;
    expect(lookedUp).not.toMatch(/\bt\./);
    expect(values).toHaveLength(text.split("?").length - 1);
  }
});
