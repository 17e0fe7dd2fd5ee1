// How a list changes while somebody points at it, or at one below it.

import { expect, test } from "vitest";
import { mergeList, type Newcomers } from "../../web/src/components/merge-list.js";

const kept = (before: string, now: string, newcomers: Newcomers) => {
  const { shown, gone, waiting } = mergeList([...before], [...now], (item) => item, newcomers);
  return { shown: shown.join(""), gone: [...gone].join(""), waiting };
};

test("what is gone keeps its place, whatever the order is now", () => {
  expect(kept("abc", "ca", "after")).toEqual({ shown: "abc", gone: "b", waiting: 0 });
});

test("new ones stand after what is shown, where they move nothing", () => {
  expect(kept("abc", "xabcy", "after")).toEqual({ shown: "abcxy", gone: "", waiting: 0 });
});

test("new ones that belong before what is shown wait; an older page is shown", () => {
  expect(kept("abc", "xyabcde", "before")).toEqual({ shown: "abcde", gone: "", waiting: 2 });
  expect(kept("", "ab", "before")).toEqual({ shown: "ab", gone: "", waiting: 0 });
});

test("above a list that is used nothing comes and nothing goes", () => {
  expect(kept("abc", "xbcy", "wait")).toEqual({ shown: "abc", gone: "a", waiting: 2 });
  expect(kept("", "ab", "wait")).toEqual({ shown: "", gone: "", waiting: 2 });
});
