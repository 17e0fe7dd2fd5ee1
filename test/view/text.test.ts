// Text for terminals is measured by what people see, in time that grows with its length only.

import { expect, test } from "vitest";
import { characters, cut, padTo, widthOf, wrap } from "../../src/common/text.js";

const samples = [
  "plain",
  "café",
  "cafe\u0301 au lait",
  "👩‍💻 works, 🇩🇪🇫🇷🇮🇹 watch",
  "漢字かな交じり文",
  "e\u0301".repeat(200),
  "🇩🇪".repeat(150),
  "👩‍👩‍👧‍👦".repeat(60),
  `${"x".repeat(255)}😀e\u0301`,
];

test("texts longer than a piece are divided where one look at the whole text divides them", () => {
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const text of samples) {
    const whole = [...segmenter.segment(text)].map(({ segment }) => segment);
    expect([...characters(text)], text).toEqual(whole);
  }
});

test("short texts are cut and padded by what is seen", () => {
  expect(cut("cafe\u0301 au lait", 5)).toBe("cafe\u0301…");
  expect(cut("漢字かな", 5)).toBe("漢字…");
  expect(cut("漢字かな", 8)).toBe("漢字かな");
  expect(cut("plain", 5)).toBe("plain");
  expect(cut("é", 0)).toBe("");
  expect(padTo("👩‍💻", 4)).toBe("👩‍💻  ");
  expect(widthOf("\x1b[31mrot\x1b[39m")).toBe(3);
});

test.each([
  ["letters with an accent each", "e\u0301".repeat(65_000)],
  ["one letter with all accents", `e${"\u0301".repeat(65_000)}`],
  ["letters outside ASCII", "é".repeat(65_000)],
])("65 000 %s are cut, measured and wrapped at once", (_, text) => {
  const begun = performance.now();
  for (let round = 0; round < 10; round++) expect(widthOf(cut(text, 80))).toBe(80);
  expect(widthOf(text)).toBeGreaterThan(80);
  expect(wrap(text, 80).join("")).toBe(text);
  expect(performance.now() - begun).toBeLessThan(15_000);
});
