import { describe, expect, test } from "vitest";
import { childId, idProblem, suppliedIdProblem, topLevelId, topLevelIdsMax, topLevelNumber } from "./ids.js";

const tiers = [
  { first: "0001", last: "9999", from: 1, size: 9_999 },
  { first: "A000", last: "Z999", from: 10_000, size: 26_000 },
  { first: "AA00", last: "ZZ99", from: 36_000, size: 67_600 },
  { first: "AAA0", last: "ZZZ9", from: 103_600, size: 175_760 },
  { first: "AAAA", last: "ZZZZ", from: 279_360, size: 456_976 },
];

describe("generated ids", () => {
  test("there are 736335 of them, all different, all four characters, none open to a caller", () => {
    expect(topLevelIdsMax).toBe(736_335);
    const seen = new Set<string>();
    let open = 0;
    let misread = 0;
    for (let n = 1; n <= topLevelIdsMax; n++) {
      const id = topLevelId(n)!;
      seen.add(id);
      if (id.length !== 4 || suppliedIdProblem(id) === null) open++;
      if (topLevelNumber(id) !== n) misread++;
    }
    expect(seen.size).toBe(topLevelIdsMax);
    expect([open, misread]).toEqual([0, 0]);
    for (const id of ["0000", "a001", "00001", "A00", "0001_t1"]) expect(topLevelNumber(id)).toBeNull();
  });

  test.each(tiers)("the tier $first…$last begins at $from and has $size", ({ first, last, from, size }) => {
    expect(topLevelId(from)).toBe(first);
    expect(topLevelId(from + size - 1)).toBe(last);
  });

  test("within a tier they grow", () => {
    for (const { from, size } of tiers) {
      let before = topLevelId(from)!;
      for (let n = from + 1; n < from + size; n++) {
        const id = topLevelId(n)!;
        if (id <= before) throw new Error(`${id} follows ${before}`);
        before = id;
      }
    }
  });

  test("there is none before the first and after the last", () => {
    expect(topLevelId(0)).toBeNull();
    expect(topLevelId(-1)).toBeNull();
    expect(topLevelId(topLevelIdsMax + 1)).toBeNull();
  });

  test.each([
    [1234, "1234"],
    [10_001, "A001"],
    [11_000, "B000"],
    [36_099, "AA99"],
    [36_100, "AB00"],
    [38_600, "BA00"],
    [279_361, "AAAB"],
    [279_386, "AABA"],
  ])("number %i is %s", (n, id) => {
    expect(topLevelId(n)).toBe(id);
  });

  test("children count in decimals, with _t under the top and a dot below", () => {
    expect(childId({ id: "0001", depth: 0 }, 12)).toBe("0001_t12");
    expect(childId({ id: "0001_t1", depth: 1 }, 1)).toBe("0001_t1.1");
    expect(childId({ id: "0001_t1.1", depth: 2 }, 3)).toBe("0001_t1.1.3");
  });
});

describe("supplied ids", () => {
  test.each(["a", "0", "task-1", "a.b_c-d", "0001_t1", "00001", "x".repeat(128)])("%s is fine", (id) => {
    expect(suppliedIdProblem(id)).toBeNull();
  });

  test.each([
    "",
    "..",
    "a..b",
    "../x",
    "/etc",
    "a/b",
    "a b",
    "-a",
    "_a",
    ".a",
    "é",
    "a\u0000",
    "a\n",
    "x".repeat(129),
  ])("%j is no id", (id) => {
    expect(idProblem(id)).not.toBeNull();
  });

  test.each([
    "0000",
    "0001",
    "Z999",
    "AB12",
    "ABC1",
    "WXYZ",
    "batch",
    "claimable",
    "in-flight",
    "claims",
    "claim-next",
  ])("%s cannot be supplied, but is an id", (id) => {
    expect(suppliedIdProblem(id)).not.toBeNull();
    expect(idProblem(id)).toBeNull();
  });
});
