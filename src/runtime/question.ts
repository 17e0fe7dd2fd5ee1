import { createInterface } from "node:readline/promises";

/** A line from whoever sits at the terminal; null at its end. Whoever interrupts ends the program, as without a question. */
export async function askUser(question: string): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const leave = () => {
    lines.removeAllListeners("close").close();
    process.stdout.write("\n");
  };
  const gone = new Promise<null>((resolve) => {
    lines.once("close", () => {
      leave();
      resolve(null);
    });
  });
  // The terminal is ours while we ask: the key comes to us and not, as a signal, to the process.
  lines.once("SIGINT", () => {
    leave();
    process.emit("SIGINT");
  });
  const answer = await Promise.race([lines.question(question), gone]);
  lines.removeAllListeners("close").close();
  return answer;
}
