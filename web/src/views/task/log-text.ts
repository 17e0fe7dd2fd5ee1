// Programs write logs for terminals: colours, and lines that they write over. Here they are lines of text.

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: see above.
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

export function linesOf(text: string): string[] {
  const lines = text
    .replace(escapes, "")
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1).replace(controls, ""));
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
