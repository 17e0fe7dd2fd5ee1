// A patch as git writes it, by file, whatever its lines are.

import { describe, expect, test } from "vitest";
import { hasUnseen, withUnseen } from "../../web/src/components/unseen.js";
import { fileOf, linesOf, partsOf } from "../../web/src/views/submission/patch-files.js";

const changed = `diff --git a/src/a.ts b/src/a.ts
index 1111111..2222222 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,3 @@
 one
-two
+++ b/not-a-name
+diff --git a/x b/x
`;

const filesOf = (patch: string) => partsOf(patch).map(fileOf);
const facts = (patch: string) =>
  filesOf(patch).map(({ path, from, insertions, deletions }) => [path, from, insertions, deletions]);

describe("a patch", () => {
  test("is cut into its files, by their headers only", () => {
    const added = `diff --git a/new file.txt b/new file.txt
new file mode 100644
--- /dev/null
+++ b/new file.txt\t
@@ -0,0 +1 @@
+x
`;
    const removed = `diff --git a/old b/old
deleted file mode 100644
--- a/old
+++ /dev/null
@@ -1 +0,0 @@
-x
`;
    expect(facts(changed + added + removed)).toEqual([
      ["src/a.ts", null, 2, 1],
      ["new file.txt", null, 1, 0],
      ["old", null, 0, 1],
    ]);
  });

  test("names files that were renamed, are binary, or only changed their mode", () => {
    expect(
      facts(`diff --git a/a b/b
similarity index 100%
rename from a
rename to b
diff --git a/dir/logo b.png b/dir/logo b.png
index 1..2 100644
Binary files a/dir/logo b.png and b/dir/logo b.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`),
    ).toEqual([
      ["b", "a", 0, 0],
      ["dir/logo b.png", null, 0, 0],
      ["run.sh", null, 0, 0],
    ]);
  });

  test("has names that git quotes, as they are", () => {
    const quoted = String.raw`"b/\303\244 \"x\"\342\200\256.ts"`;
    const [file] = filesOf(`diff --git "a/x" ${quoted}\n--- /dev/null\n+++ ${quoted}\n@@ -0,0 +1 @@\n+x\n`);
    expect(file?.path).toBe('ä "x"\u202e.ts');
    expect(withUnseen(file!.path)).toBe('ä "x"⟨U+202E⟩.ts');
  });

  test("can be anything else", () => {
    expect(filesOf("")).toEqual([]);
    expect(facts("not a patch\n+x")).toEqual([["(unnamed)", null, 0, 0]]);
    expect(filesOf("diff --git ")).toHaveLength(1);
    expect(partsOf("diff --git a/x b/x\n".repeat(50_000))).toHaveLength(50_000);
    expect(filesOf(`diff --git a/x b/x\n@@ -1 +1 @@\n${"\n".repeat(1_000_000)}`)[0]?.lineCount).toBe(
      1_000_002,
    );
  });

  test("gives as many lines as are asked for", () => {
    expect(linesOf("a\nb\nc", 2)).toEqual(["a", "b"]);
    expect(linesOf("a\n\nc\n", 9)).toEqual(["a", "", "c"]);
    expect(linesOf("", 9)).toEqual([]);
  });
});

test("characters that are not seen are named; tabs, line ends and everything that is seen stay", () => {
  expect(withUnseen("\u001b[31mred\u0007\r")).toBe("␛[31mred␇␍");
  expect(withUnseen("a\u202eb\u2066c\u200bd\u00ade\ufefff\u{e0041}")).toBe(
    "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+00AD⟩e⟨U+FEFF⟩f⟨U+E0041⟩",
  );
  expect(withUnseen("\u2028\u0085\u007f")).toBe("⟨U+2028⟩⟨U+0085⟩␡");
  const plain = "\tä שלום 漢字 ❤️ <b>&amp;</b>\n";
  expect(withUnseen(plain)).toBe(plain);
  expect(hasUnseen(plain)).toBe(false);
});
