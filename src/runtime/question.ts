import { createInterface } from "node:readline/promises";

/** A line from whoever sits at the terminal; nothing if they go away. */
export async function askUser(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const gone = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  // At the terminal itself readline sees the key before the process gets the signal.
  lines.once("SIGINT", () => lines.close());
  try {
    return await Promise.race([lines.question(question, { signal }).catch(() => ""), gone]);
  } finally {
    lines.close();
  }
}
