import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conformance } from "../conformance/index.js";
import { openSqliteStore } from "./store.js";

conformance({
  name: "sqlite",
  async open(clock) {
    const directory = mkdtempSync(join(tmpdir(), "dibs-"));
    const again = () => openSqliteStore(join(directory, "dibs.db"), clock, { brief: true });
    return {
      store: await again(),
      again,
      dispose: () => rmSync(directory, { recursive: true, force: true }),
    };
  },
});
