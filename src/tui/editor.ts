// One line of text that somebody types, with a caret. What people see as one character is moved over and deleted as one.

import { characters, cut, widthOf } from "../common/text.js";
import type { Key } from "./keys.js";

const lengthMax = 64 * 1024;
/** How far back the character before the caret, or the beginning of what is shown, is looked for at most. */
const lookBackMax = 4096;

export class Editor {
  caret: number;

  constructor(public text = "") {
    this.caret = text.length;
  }

  set(text: string, caret = text.length): void {
    this.text = text;
    this.caret = caret;
  }

  /** Whether the key was for it. */
  press({ name, text }: Key): boolean {
    switch (name) {
      case "text":
      case "paste":
        return this.insert(text);
      case "left":
        return this.moveTo(this.before());
      case "right":
        return this.moveTo(this.after());
      case "home":
        return this.moveTo(0);
      case "end":
        return this.moveTo(this.text.length);
      case "backspace":
        return this.remove(this.before(), this.caret);
      case "delete":
        return this.remove(this.caret, this.after());
      case "ctrl":
        return this.control(text);
      default:
        return false;
    }
  }

  private control(letter: string): boolean {
    const word = /\S*\s*$/.exec(this.text.slice(0, this.caret))![0].length;
    switch (letter) {
      case "a":
        return this.moveTo(0);
      case "e":
        return this.moveTo(this.text.length);
      case "u":
        return this.remove(0, this.caret);
      case "k":
        return this.remove(this.caret, this.text.length);
      case "w":
        return this.remove(this.caret - word, this.caret);
      default:
        return false;
    }
  }

  private insert(text: string): boolean {
    const room = lengthMax - this.text.length;
    const fitting = text.slice(0, Math.max(0, room));
    this.set(
      this.text.slice(0, this.caret) + fitting + this.text.slice(this.caret),
      this.caret + fitting.length,
    );
    return true;
  }

  private moveTo(caret: number): boolean {
    this.caret = caret;
    return true;
  }

  private remove(from: number, to: number): boolean {
    this.set(this.text.slice(0, from) + this.text.slice(to), from);
    return true;
  }

  private before(): number {
    return this.caret - (lastCharacters(this.text.slice(0, this.caret)).at(-1)?.length ?? 0);
  }

  private after(): number {
    const [next = ""] = characters(this.text.slice(this.caret));
    return this.caret + next.length;
  }

  /** The part around the caret that fits, and where in it the caret is. Line breaks are shown as marks. */
  shown(width: number): { text: string; column: number } {
    const marked = (text: string) => text.replaceAll("\n", "⏎");
    const left = marked(this.text.slice(0, this.caret));
    const right = marked(this.text.slice(this.caret));
    let begin = left;
    // The caret needs a column of its own behind the text.
    if (cut(left, width - 1) !== left) {
      begin = `…${endOf(left, Math.max(0, width - 2))}`;
    }
    return { text: begin + cut(right, Math.max(0, width - widthOf(begin))), column: widthOf(begin) };
  }
}

function lastCharacters(text: string): string[] {
  return [...characters(text.slice(-lookBackMax))];
}

/** The end of the text, as much as fits. */
function endOf(text: string, width: number): string {
  let end = "";
  let left = width;
  for (const character of lastCharacters(text).reverse()) {
    left -= widthOf(character);
    if (left < 0) break;
    end = character + end;
  }
  return end;
}
