import { expect, test } from "vitest";
import { openDesk, ways } from "./desk.js";

test.each(ways)(
  "a list of many tasks begins with what is active, and says how many more there are, %s",
  async (way) => {
    const desk = await openDesk(way);
    const plan = Array.from({ length: 150 }, (_, at) => `- [ ] Number ${at + 1}\n`).join("");
    await desk.says(["plan", "-", "--yes"], { input: plan });
    await desk.says(["cancel", "--filter", "is:ready", "--yes"]);
    await desk.says(["add", "Ready"]);
    await desk.says(["add", "Blocked", "-d", "0151"]);
    await desk.says(["add", "Running"]);
    await desk.says(["claim", "0153", "--start", "--session", "agent-1"]);
    const idsIn = (text: string) => [...text.matchAll(/^\D{0,5}(\d{4}) {2}/gm)].map(([, id]) => id);
    const first = await desk.says(["list"]);
    expect(idsIn(first).slice(0, 5)).toEqual(["0153", "0151", "0152", "0150", "0149"]);
    const [, command = ""] = /^… 53 more\. Run: dibs (list --cursor ended\.\d+)\n$/m.exec(first)!;
    const rest = await desk.says(command.split(" "));
    expect(idsIn(rest)).toHaveLength(53);
    expect(idsIn(rest).at(-1)).toBe("0001");
    expect(rest).not.toContain("more");
    const found = await desk.says(["list", "--search", "Number", "--limit", "2"]);
    expect(found).toMatch(/^… more\. Run: dibs list --search Number --limit 2 --cursor ended\.\d+\n$/m);
    expect(idsIn(await desk.says(["list", "--order", "created", "--limit", "2"]))).toEqual(["0001", "0002"]);
    const { tasks } = await desk.json(["list", "--limit", "1"]);
    expect(tasks[0].id).toBe("0001");
  },
);
