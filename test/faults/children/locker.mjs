// Another program that stands still inside a write transaction.

import { DatabaseSync } from "@photostructure/sqlite";
import { input, say, told } from "./kit.mjs";

const db = new DatabaseSync(input.path);
db.exec("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE");
db.exec("UPDATE org SET last_at = last_at");
const finish = told("finish");
await say("locked");
await finish;
db.exec("COMMIT");
db.close();
await say("unlocked");
process.exit(0);
