// What the program's fence does, on the built package: exit 0 if the claim is held.

import { openDibs } from "../../../dist/index.js";
import { askFence } from "../../../dist/runner/index.js";

const { isAllowed, message } = await askFence(process.env, () =>
  openDibs({ path: process.env.DIBS_DATABASE_URL }),
);
if (message) process.stderr.write(`${message}\n`);
process.exit(isAllowed ? 0 : 1);
