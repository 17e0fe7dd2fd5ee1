// A server on PostgreSQL keeps its token in the home directory: a test file that imports this has a home of its own.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

const before = process.env.HOME;
const home = mkdtempSync(join(tmpdir(), "dibs-home-"));

beforeAll(() => {
  process.env.HOME = home;
});

afterAll(() => {
  process.env.HOME = before;
  rmSync(home, { recursive: true, force: true });
});
