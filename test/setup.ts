// Runs before each test file. Every file has a home directory of its own: servers keep tokens there, and nobody's settings are read.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import { cleanUp } from "./support.js";

const home = mkdtempSync(join(tmpdir(), "dibs-home-"));
process.env.HOME = home;

afterEach(cleanUp);
afterAll(() => rmSync(home, { recursive: true, force: true }));
