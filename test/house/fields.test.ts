// A field that is added to a row must not be forgotten in a store: it does not compile until every table of fields has it.

import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { root } from "./source.js";

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile).config,
  ts.sys,
  root,
);
const parsed = new Map<string, ts.SourceFile | undefined>();

type Edits = Record<string, (text: string) => string>;

/** Which of these files do not compile when some are edited. */
function broken(files: readonly string[], edits: Edits): string[] {
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (path, version) => {
    const edit = edits[path.slice(root.length + 1)];
    if (edit) return ts.createSourceFile(path, edit(ts.sys.readFile(path)!), version);
    if (!parsed.has(path)) parsed.set(path, read(path, version));
    return parsed.get(path);
  };
  const program = ts.createProgram(
    files.map((file) => join(root, file)),
    { ...options, noEmit: true, incremental: false },
    host,
  );
  return files.filter((file) => {
    const source = program.getSourceFile(join(root, file))!;
    return program.getSemanticDiagnostics(source).length > 0;
  });
}

/** Adds a line after the first line that begins so. */
const after = (start: string, line: string) => (text: string) => {
  expect(text).toContain(`\n${start}`);
  const at = text.indexOf("\n", text.indexOf(`\n${start}`) + 1);
  return `${text.slice(0, at)}\n${line}${text.slice(at)}`;
};

const inTask = { "src/core/task.ts": after("export interface Task {", "  flavour: string | null;") };

test("a new field of a task does not compile until it is in the table of fields", () => {
  const file = "src/store/task-fields.ts";
  expect(broken([file], {})).toEqual([]);
  expect(broken([file], inTask)).toEqual([file]);
  const field = (how: string) => ({ ...inTask, [file]: after("const fields = {", `  flavour: ${how},`) });
  expect(broken([file], field("more(null)"))).toEqual([]);
  expect(broken([file], field('column("flavour")'))).toEqual([]);
  // Omitted fields must be read as values of their type.
  expect(broken([file], field("more(7)"))).toEqual([file]);
});

test("a new field of a claim, an attempt or a session does not compile until each database stores it", () => {
  const claim = ["sqlite", "postgres", "dynamodb"].map((store) => `src/store/${store}/tables/claim.ts`);
  const inClaim = { "src/core/claim.ts": after("export interface Claim {", "  flavour: string | null;") };
  expect(broken(claim, inClaim)).toEqual(claim);
  const attempt = ["src/store/attempt-body.ts"];
  const inAttempt = {
    "src/core/claim.ts": after("export interface Attempt extends Lease {", "  flavour: string | null;"),
  };
  expect(broken(attempt, inAttempt)).toEqual(attempt);
  // PostgreSQL keeps a session's fields in one JSON column.
  const session = ["sqlite", "dynamodb"].map((store) => `src/store/${store}/tables/session.ts`);
  const inSession = {
    "src/core/session.ts": after("export interface Session {", "  flavour: string | null;"),
  };
  expect(broken(session, inSession)).toEqual(session);
});
