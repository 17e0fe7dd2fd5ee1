// Random scripts on the reference model and on PostgreSQL, side by side.

import { openPostgresStore } from "../../src/store/postgres/store.js";
import { staysAlike } from "../simulation/property.js";
import { Rig } from "../simulation/rig.js";
import { testDatabase } from "./database.js";

const database = await testDatabase();

staysAlike("PostgreSQL", 60, async (steps, coverage) => {
  await database.empty();
  await new Rig("postgres", (clock) => openPostgresStore(database.url, clock), coverage).run(steps);
});
