import { conformance } from "../../src/store/conformance/index.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { testDatabase } from "./database.js";

const database = await testDatabase();

conformance({
  name: "postgres",
  async open(clock) {
    await database.empty();
    const again = () => openPostgresStore(database.url, clock);
    return { store: await again(), again };
  },
});
