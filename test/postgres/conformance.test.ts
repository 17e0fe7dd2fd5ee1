import { conformance } from "../../src/store/conformance/index.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { testDatabase } from "./database.js";

const database = await testDatabase();

conformance({
  name: "postgres",
  async open(clock) {
    await database.empty();
    return { store: await openPostgresStore(database.url, clock) };
  },
});
