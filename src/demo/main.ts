// The live demo as a program: `npm start`. It ends by itself; whatever ends it leaves no process, no file and a usable terminal.
// DIBS_DEMO_SPEED multiplies every duration (0.1: ten times as fast); NO_COLOR is respected.

import { type Ended, runDemo } from "./demo.js";
import { paceFrom } from "./pace.js";
import { openOutput, paintFor } from "./screen.js";
import { agentLines, taskLines, titleLine } from "./table.js";

const watchdogMs = 90_000;
const lastResortMs = 10_000;
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

const { stdout } = process;
const ending = new AbortController();
const output = openOutput(stdout);
const onExit = [() => output.close()];
process.once("exit", () => {
  for (const step of onExit.reverse()) step();
});

// Nobody reads any more, as with `| head`.
stdout.on("error", () => process.exit(1));

for (const [signal, code] of Object.entries(exitCodes)) {
  process.on(signal, () => {
    if (ending.signal.aborted) process.exit(code);
    process.exitCode = code;
    ending.abort(new Error(`stopped by ${signal}`));
  });
}

const watchdog = setTimeout(() => {
  ending.abort(new Error(`not finished after ${watchdogMs / 1000} s`));
}, watchdogMs);

try {
  const ended = await runDemo({
    output,
    pace: paceFrom(process.env.DIBS_DEMO_SPEED),
    ending,
    onExit: (step) => onExit.push(step),
  });
  output.close();
  show(ended);
} catch (error) {
  output.close();
  process.exitCode ||= 1;
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
}
clearTimeout(watchdog);
setTimeout(() => process.exit(), lastResortMs).unref();

function show({ picture, summary }: Ended): void {
  const paint = paintFor(stdout);
  const look = { columns: 79, paint };
  const parts = [
    [titleLine(picture, look)],
    agentLines(picture, look),
    taskLines(picture, look),
    summary.lines,
  ];
  for (const line of parts.flatMap((part) => [...part, ""])) stdout.write(`${line.trimEnd()}\n`);
  if (summary.problems.length === 0) {
    stdout.write(`  ${paint("Verified", "green")}   every task was completed exactly once\n`);
    return;
  }
  process.exitCode = 1;
  for (const problem of summary.problems) stdout.write(`  ${paint("Wrong", "red")}      ${problem}\n`);
}
