// One line of text that somebody types, with a caret. What people see as one character is moved over and deleted as one.

import { cut, widthOf } from "../client/view/text.js";
import type { Key } from "./keys.js";

const lengthMax = 64 * 1024;
const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });

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
    const last = [...segments.segment(this.text.slice(0, this.caret))].at(-1);
    return last ? last.index : 0;
  }

  private after(): number {
    const next = segments.segment(this.text.slice(this.caret))[Symbol.iterator]().next().value;
    return this.caret + (next?.segment.length ?? 0);
  }

  /** The part around the caret that fits, and where in it the caret is. Line breaks are shown as marks. */
  shown(width: number): { text: string; column: number } {
    const marked = (text: string) => text.replaceAll("\n", "⏎");
    const left = marked(this.text.slice(0, this.caret));
    const right = marked(this.text.slice(this.caret));
    let begin = left;
    // The caret needs a column of its own behind the text.
    if (widthOf(left) >= width) {
      const letters = [...segments.segment(left)].map(({ segment }) => segment);
      while (letters.length > 0 && widthOf(letters.join("")) > Math.max(0, width - 2)) letters.shift();
      begin = `…${letters.join("")}`;
    }
    return { text: begin + cut(right, Math.max(0, width - widthOf(begin))), column: widthOf(begin) };
  }
}
