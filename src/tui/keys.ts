// From what a terminal sends to keys. A chunk may hold many keys, and half of one at its end: what begins like a sequence is kept
// until the rest comes, or until whoever reads says that nothing does (then it was the escape key).

export type KeyName =
  | "text"
  | "paste"
  | "up"
  | "down"
  | "left"
  | "right"
  | "pageup"
  | "pagedown"
  | "home"
  | "end"
  | "tab"
  | "backtab"
  | "enter"
  | "escape"
  | "backspace"
  | "delete"
  | "ctrl";

export interface Key {
  name: KeyName;
  /** What is typed or pasted; with `ctrl` the letter. */
  text: string;
}

const key = (name: KeyName, text = ""): Key => ({ name, text });

const finals: Record<string, KeyName> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  Z: "backtab",
};
const numbers: Record<string, KeyName> = {
  1: "home",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};

const esc = "\x1b";
const pasteStart = `${esc}[200~`;
const pasteEnd = `${esc}[201~`;
/** More than this nobody means to paste. */
const pendingMax = 256 * 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences of keys.
const sequence = /^\x1b(?:\[([0-9;?<>=]*)([@-~])|O([@-~]))/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the beginning of one.
const begun = /^\x1b(?:\[[0-9;?<>=]*|O)?$/;

export class KeyReader {
  private pending = "";

  get isWaiting(): boolean {
    return this.pending !== "";
  }

  feed(chunk: string): Key[] {
    this.pending += chunk;
    const keys: Key[] = [];
    while (this.pending !== "") {
      const length = this.take(keys);
      if (length === 0) break;
      this.pending = this.pending.slice(length);
    }
    if (this.pending.length > pendingMax) this.pending = "";
    return keys;
  }

  /** Nothing more came. */
  flush(): Key[] {
    const rest = this.pending;
    if (rest.startsWith(pasteStart)) return [];
    this.pending = "";
    return rest === "" ? [] : [key("escape"), ...new KeyReader().feed(rest.slice(1))];
  }

  /** How much of the beginning was understood; 0: the rest must come first. */
  private take(keys: Key[]): number {
    const text = this.pending;
    if (text.startsWith(pasteStart)) {
      const end = text.indexOf(pasteEnd);
      if (end < 0) return 0;
      keys.push(key("paste", text.slice(pasteStart.length, end).replace(/\r\n?/g, "\n")));
      return end + pasteEnd.length;
    }
    if (text[0] !== esc) return takePlain(text, keys);
    const match = sequence.exec(text);
    if (!match) {
      if (begun.test(text)) return 0;
      keys.push(key("escape"));
      return 1;
    }
    const [whole, parameters = "", final = "", other = ""] = match;
    const name = final === "~" ? numbers[parameters.split(";")[0]!] : finals[final || other];
    if (name) keys.push(key(name));
    return whole.length;
  }
}

function takePlain(text: string, keys: Key[]): number {
  const letter = String.fromCodePoint(text.codePointAt(0)!);
  const code = letter.codePointAt(0)!;
  if (letter === "\r" || letter === "\n") keys.push(key("enter"));
  else if (letter === "\t") keys.push(key("tab"));
  else if (code === 127 || code === 8) keys.push(key("backspace"));
  else if (code < 27) keys.push(key("ctrl", String.fromCharCode(code + 96)));
  else if (code >= 32) keys.push(key("text", letter));
  return letter.length;
}
