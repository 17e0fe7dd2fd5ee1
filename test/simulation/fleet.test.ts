import { expect, test } from "vitest";
import { runSchedule } from "./fleet/run.js";
import { linesOf, scheduleOf } from "./fleet/schedule.js";

test("try", async () => {
  const first = Number(process.env.DIBS_SEED ?? 1);
  const count = Number(process.env.DIBS_RUNS ?? 1);
  const { Session } = await import("node:inspector/promises");
  const s = new Session(); s.connect();
  if (process.env.PROF) { await s.post("Profiler.enable"); await s.post("Profiler.start"); }
  const t = process.cpuUsage();
  const totals: Record<string, number> = {};
  let bad = 0;
  for (let n = first; n < first + count; n++) {
    const schedule = scheduleOf(n);
    const outcome = await runSchedule(schedule);
    for (const [k, v] of Object.entries(outcome.figures)) totals[k] = (totals[k] ?? 0) + v;
    if (outcome.broken.length || count === 1) {
      console.log(linesOf(schedule).join("\n"), outcome);
    }
    if (outcome.broken.length && ++bad > 3) break;
  }
  console.log(process.cpuUsage(t), totals);
  if (process.env.PROF) { const { profile } = await s.post("Profiler.stop"); (await import("node:fs")).writeFileSync("/tmp/p.cpuprofile", JSON.stringify(profile)); }
  expect(1).toBe(1);
});
