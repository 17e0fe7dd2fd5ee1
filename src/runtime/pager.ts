// The user's pager, as git finds it: $PAGER through a shell, else less. It gets the terminal until it ends.

import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

const notFound = 127;

/** False: there is no pager, and nothing was shown. */
export async function page(text: string, env: Environment): Promise<boolean> {
  const command = env.PAGER ?? "less -R";
  if (command === "" || command === "cat") return false;
  // Git's own default: a text that fits is printed, colours are kept, the screen is not cleared.
  const code = await run(command, text, { LESS: "FRX", ...env });
  return code !== null && code !== notFound;
}

function run(command: string, text: string, env: Environment): Promise<number | null> {
  // Ctrl-C is the pager's while it has the terminal.
  const ignore = () => undefined;
  const listeners = process.listeners("SIGINT");
  process.removeAllListeners("SIGINT").on("SIGINT", ignore);
  return new Promise<number | null>((resolve) => {
    const pager = spawn("sh", ["-c", command], { stdio: ["pipe", "inherit", "inherit"], env });
    pager.once("error", () => resolve(null));
    pager.once("close", (code) => resolve(code ?? 0));
    // It can end before it has read everything.
    pager.stdin.on("error", ignore);
    pager.stdin.end(text);
  }).finally(() => {
    process.off("SIGINT", ignore);
    for (const listener of listeners) process.on("SIGINT", listener);
  });
}
