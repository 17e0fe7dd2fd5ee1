import { expect, test } from "vitest";
import { storableText, tailOf } from "./log.js";

test("a text that fits is kept whole", () => {
  expect(tailOf("aé日🎉", 10)).toEqual({ text: "aé日🎉", cutBytes: 0 });
  expect(tailOf("", 0)).toEqual({ text: "", cutBytes: 0 });
});

test("a longer one is cut at the beginning, between characters", () => {
  expect(tailOf("aé日🎉", 9)).toEqual({ text: "é日🎉", cutBytes: 1 });
  expect(tailOf("aé日🎉", 8)).toEqual({ text: "日🎉", cutBytes: 3 });
  expect(tailOf("aé日🎉", 5)).toEqual({ text: "🎉", cutBytes: 6 });
  expect(tailOf("aé日🎉", 3)).toEqual({ text: "", cutBytes: 10 });
});

test("what no store can keep is replaced", () => {
  expect(storableText("a\u0000b\ud83cc\udf89 🎉 \u001b[0m")).toBe("a\ufffdb\ufffdc\ufffd 🎉 \u001b[0m");
});
