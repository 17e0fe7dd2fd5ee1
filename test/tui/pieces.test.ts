import { describe, expect, onTestFinished, test } from "vitest";
import type { SessionEntry } from "../../src/client/view/health.js";
import type { WireTaskRow } from "../../src/contract/tasks/rows.js";
import { Editor } from "../../src/tui/editor.js";
import { KeyReader } from "../../src/tui/keys.js";
import { List } from "../../src/tui/list.js";
import { inQueueOrder } from "../../src/tui/queue-order.js";
import { Reading } from "../../src/tui/reading.js";
import { Screen } from "../../src/tui/screen.js";
import { inFleetOrder } from "../../src/tui/state.js";
import { until } from "../support.js";
import { at, claim, now, row } from "../view/support.js";

describe("keys", () => {
  const read = (...chunks: string[]) => {
    const reader = new KeyReader();
    const keys = [...chunks.flatMap((chunk) => reader.feed(chunk)), ...reader.flush()];
    return keys.map(({ name, text }) => (text === "" ? name : `${name} ${text}`));
  };

  test.each<[string, string[], string[]]>([
    ["letters, each by itself", ["jé👍"], ["text j", "text é", "text 👍"]],
    ["enter among letters", ["a\rb"], ["text a", "enter", "text b"]],
    ["arrows in both forms", ["\x1b[A\x1bOB\x1b[1;5C"], ["up", "down", "right"]],
    ["pages and ends", ["\x1b[5~\x1b[6~\x1b[H\x1b[4~"], ["pageup", "pagedown", "home", "end"]],
    ["a sequence in two pieces", ["\x1b[", "6~"], ["pagedown"]],
    ["the escape key", ["\x1b"], ["escape"]],
    ["the escape key before another", ["\x1bj"], ["escape", "text j"]],
    ["tab both ways", ["\t\x1b[Z"], ["tab", "backtab"]],
    ["deleting", ["\x7f\b\x1b[3~"], ["backspace", "backspace", "delete"]],
    ["control", ["\x03\x15"], ["ctrl c", "ctrl u"]],
    ["pasted lines as one", ["\x1b[200~a\r\nb", "\x1b[201~c"], ["paste a\nb", "text c"]],
    ["what is not known", ["\x1b[99~\x1b[?1;2cx"], ["text x"]],
  ])("%s", (_, chunks, keys) => {
    expect(read(...chunks)).toEqual(keys);
  });
});

describe("a line that is typed", () => {
  const typed = (editor: Editor, ...names: string[]) => {
    for (const name of names) {
      const [first = "", text = ""] = name.split(" ");
      editor.press({ name: first as never, text });
    }
    return `${editor.text.slice(0, editor.caret)}|${editor.text.slice(editor.caret)}`;
  };

  test("moves and deletes what people see as one character", () => {
    expect(typed(new Editor("a👩‍💻é"), "left", "left")).toBe("a|👩‍💻é");
    expect(typed(new Editor("a👩‍💻"), "backspace")).toBe("a|");
    expect(typed(new Editor("ab"), "home", "delete")).toBe("|b");
    expect(typed(new Editor("one two"), "ctrl w")).toBe("one |");
    expect(typed(new Editor("one two"), "ctrl u", "text x")).toBe("x|");
  });

  test("shows the part around the caret, never wider than there is room", () => {
    const editor = new Editor("0123456789");
    expect(editor.shown(20)).toEqual({ text: "0123456789", column: 10 });
    expect(editor.shown(6)).toEqual({ text: "…6789", column: 5 });
    editor.press({ name: "home", text: "" });
    expect(editor.shown(6)).toEqual({ text: "01234…", column: 0 });
    expect(new Editor("a\nb").shown(10).text).toBe("a⏎b");
  });

  test("may be 32 000 letters with an accent each, and still moves at once", () => {
    const editor = new Editor("e\u0301".repeat(32_000));
    const begun = performance.now();
    for (let press = 0; press < 10; press++) {
      typed(editor, "left", "backspace", "right", "left");
      expect(editor.shown(40).column).toBe(39);
    }
    expect(editor.text.length).toBe(2 * (32_000 - 10));
    expect(performance.now() - begun).toBeLessThan(15_000);
  });
});

describe("a list that changes by itself", () => {
  const list = (letters: string) => {
    const made = new List<string>((item) => item);
    made.set([...letters]);
    return made;
  };

  test("keeps the selection with its item, and the item on its line", () => {
    const letters = list("abcdefgh");
    letters.to(4);
    expect(letters.window(3)).toEqual({ from: 2, items: ["c", "d", "e"] });
    letters.set([..."xyabcdefgh"]);
    expect(letters.selected).toBe("e");
    expect(letters.window(3)).toEqual({ from: 4, items: ["c", "d", "e"] });
  });

  test("at the top shows what comes to the top, until something is done there", () => {
    const letters = list("abc");
    letters.set([..."xabc"]);
    expect(letters.selected).toBe("x");
    letters.pin();
    letters.set([..."yxabc"]);
    expect(letters.selected).toBe("x");
    letters.to(0);
    letters.set([..."zyxabc"]);
    expect(letters.selected).toBe("z");
  });

  test("stays in its place when its item goes", () => {
    const letters = list("abcd");
    letters.to(2);
    letters.set([..."abd"]);
    expect(letters.selected).toBe("d");
    letters.set([]);
    expect(letters.selected).toBeUndefined();
    expect(letters.window(3).items).toEqual([]);
  });
});

describe("the screen", () => {
  const open = () => {
    const written: string[] = [];
    const drains: (() => void)[] = [];
    const stdout = {
      writableNeedDrain: false,
      write: (text: string) => written.push(text) > 0,
      once: (_: string, act: () => void) => drains.push(act),
    };
    const modes: boolean[] = [];
    const screen = new Screen({ setRawMode: (mode: boolean) => modes.push(mode) } as never, stdout as never);
    screen.enter();
    written.length = 0;
    return { screen, written, stdout, drains, modes };
  };
  const frame = (...lines: string[]) => ({ lines, cursor: null });

  test("writes the lines that changed, and nothing when nothing did", () => {
    const { screen, written } = open();
    screen.draw(frame("one", "two", "three"));
    screen.draw(frame("one", "two", "three"));
    expect(written).toHaveLength(1);
    screen.draw(frame("one", "2", "three"));
    expect(written[1]).toContain("\x1b[2;1H\x1b[K2");
    expect(written[1]).not.toMatch(/one|three/);
  });

  test("erases nothing behind a line: in tmux that would be the last column of a full line", () => {
    const { screen, written } = open();
    screen.draw(frame("a line as wide as the terminal", "another"));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals are sent.
    for (const [behind] of written.join("").matchAll(/(?<=terminal|another).*?(?=\x1b\[\d+;1H|$)/g))
      expect(behind).not.toMatch(/\[[0-2]?[JK]/);
  });

  test("lets nothing through but text and colours", () => {
    const { screen, written } = open();
    screen.draw(frame("\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J \x9b5n\r\x08 end"));
    expect(written.join("")).toContain("\x1b[31mred\x1b[0m ]0;title [2J 5n end");
  });

  test("gives a slow terminal the newest frame, and none of those between", () => {
    const { screen, written, stdout, drains } = open();
    stdout.writableNeedDrain = true;
    screen.draw(frame("one"));
    screen.draw(frame("two"));
    expect(written).toEqual([]);
    stdout.writableNeedDrain = false;
    for (const drained of drains) drained();
    expect(written.join("")).toContain("two");
    expect(written.join("")).not.toContain("one");
  });

  test("is given back once, with its cursor and its own screen", () => {
    const { screen, written, modes } = open();
    screen.leave();
    screen.leave();
    screen.draw(frame("late"));
    expect(written).toHaveLength(1);
    expect(written[0]).toContain("\x1b[?25h");
    expect(written[0]).toContain("\x1b[?1049l");
    expect(modes).toEqual([true, false]);
  });
});

test("the queue goes from what is in flight through what is next to what is over", () => {
  const rows: WireTaskRow[] = [
    row({ id: "done", state: "completed" }),
    row({ id: "failed", state: "failed" }),
    row({ id: "blocked", pendingDependencies: 1, priority: 100 }),
    row({ id: "scheduled", notBefore: at(-60_000) }),
    row({ id: "low", sequence: 2, priority: 20, readyAt: at(1_000) }),
    row({ id: "high", sequence: 3, priority: 80, readyAt: at(1_000) }),
    row({ id: "waits long", priority: 50, readyAt: at(3_600_000) }),
    row({ id: "held later", state: "running", claim: claim({ claimedAt: at(1_000) }) }),
    row({ id: "held", state: "claimed", claim: claim({ claimedAt: at(60_000) }) }),
    row({ id: "part", parentId: "low", depth: 1, readyAt: at(1_000) }),
  ];
  const ageing = { enabled: true, stepMs: 300_000, boost: 20, boostMax: 40 };
  const ordered = (order: "priority" | "depth-first") =>
    inQueueOrder(rows, {
      settingsOf: () => ({ ageing, order }),
      now,
    }).map(({ id }) => id);
  const ends = ["scheduled", "blocked", "failed", "done"];
  expect(ordered("priority")).toEqual(["held", "held later", "waits long", "high", "part", "low", ...ends]);
  expect(ordered("depth-first")).toEqual([
    "held",
    "held later",
    "part",
    "high",
    "low",
    "waits long",
    ...ends,
  ]);
});

test("the fleet goes from who is there, by name and number, to who was not heard of for long", () => {
  const session = (id: string, msAgo: number) =>
    ({ id, project: "shop", currentTask: null, lastSeenAt: at(msAgo) }) as SessionEntry;
  const sessions = [
    session("old-1", 900_000),
    session("a-10", 1_000),
    session("old-2", 600_000),
    session("a-2", 9_000),
  ];
  expect(inFleetOrder(sessions, now).map(({ id }) => id)).toEqual(["a-2", "a-10", "old-2", "old-1"]);
});

describe("a reading", () => {
  const options = { gapMs: 1, everyMs: 1 };
  const reading = (read: () => Promise<void>) => {
    const made = new Reading(read, options);
    onTestFinished(() => made.close());
    return made;
  };
  const away = Object.assign(new Error("gone"), { code: "STORE_UNAVAILABLE" });

  test("tells for how long nobody has answered, across its tries", async () => {
    let tries = 0;
    let isBack = false;
    const made = reading(async () => {
      tries += 1;
      if (!isBack) throw away;
    });
    await until("it has lasted", () => made.unansweredMs > 30);
    expect(tries).toBeGreaterThan(1);
    isBack = true;
    await until("the error is gone", () => made.error === null);
    made.close();
    expect(made.unansweredMs).toBe(0);
  });

  test("takes a refusal for an answer", async () => {
    const made = reading(() => Promise.reject(Object.assign(new Error("no"), { code: "NOT_FOUND" })));
    await until("it is refused", () => made.error?.message === "no");
    made.close();
    expect(made.unansweredMs).toBe(0);
  });
});
