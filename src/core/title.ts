/** The first line of the prompt; over 50 characters its first 47 and an ellipsis. */
export function titleFrom(prompt: string): string {
  const characters = [...(prompt.trimStart().split(/\r\n|[\n\r\u2028\u2029]/, 1)[0] ?? "").trimEnd()];
  return characters.length <= 50 ? characters.join("") : `${characters.slice(0, 47).join("")}...`;
}
