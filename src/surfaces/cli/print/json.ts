// JSON for programs that a terminal may show as well: the same value, with every character that could move a cursor or turn text
// around as an escape. `JSON.stringify` does so with the lowest ones only.

export function jsonLine(value: unknown): string {
  return `${inEscapes(JSON.stringify(value))}\n`;
}

/** Of JSON as text: what is replaced stands inside of strings only. */
export function inEscapes(json: string): string {
  return json.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) =>
    found
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
