import { describe, expect, test } from "vitest";
import { type SseItem, SseParser } from "../../src/client/sse.js";

const encoder = new TextEncoder();

/** What comes out of these bytes when they come in pieces of this length. */
function parse(text: string, length = Number.POSITIVE_INFINITY): SseItem[] {
  const parser = new SseParser();
  const bytes = encoder.encode(text);
  const items: SseItem[] = [];
  for (let at = 0; at < bytes.length; at += Math.min(length, bytes.length)) {
    items.push(...parser.feed(bytes.subarray(at, at + length)));
  }
  return items;
}

const message = (id: string | null, data: string): SseItem => ({ kind: "message", id, data });

describe("server-sent events", () => {
  const text = [
    "retry: 1500",
    ": ready 12",
    "",
    "id: 13",
    'data: {"title":"Größe 🚀 und 日本"}',
    "",
    "event: ignored",
    "id:14",
    "data:first",
    "data: second",
    "",
    ":",
    "",
    "id: 15",
    "",
    "",
  ];
  const items: SseItem[] = [
    { kind: "retry", ms: 1500 },
    { kind: "comment", text: "ready 12" },
    message("13", '{"title":"Größe 🚀 und 日本"}'),
    message("14", "first\nsecond"),
    { kind: "comment", text: "" },
    message("15", ""),
  ];

  for (const [name, end] of Object.entries({ LF: "\n", CRLF: "\r\n", CR: "\r" })) {
    test.each([1, 2, 3, 7, 1000])(`with ${name}, in pieces of %i bytes`, (length) => {
      expect(parse(text.join(end) + end, length)).toEqual(items);
    });
  }

  test("a message without its end is none", () => {
    expect(parse("id: 1\ndata: {}\n\nid: 2\ndata: {}\n")).toEqual([message("1", "{}")]);
  });

  test("a message of megabytes comes out whole", () => {
    const data = "x".repeat(8_000_000);
    expect(parse(`data: ${data}\n\n`, 16_384)).toEqual([message(null, data)]);
  });

  test("a stream that never ends a line is refused instead of kept", () => {
    const parser = new SseParser();
    const chunk = new Uint8Array(1_000_000).fill(120);
    const feed = () => {
      for (let n = 0; n < 100; n++) for (const _ of parser.feed(chunk)) break;
    };
    expect(feed).toThrow(/too long/);
  });
});
