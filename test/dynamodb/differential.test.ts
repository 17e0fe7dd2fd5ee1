// Random scripts on the reference model and on DynamoDB in memory, side by side.

import { staysAlike } from "../simulation/property.js";
import { Rig } from "../simulation/rig.js";
import { newService, openOn } from "./support.js";

staysAlike("DynamoDB", 60, async (steps, coverage) => {
  const fake = await newService();
  await new Rig("dynamodb", (clock) => openOn(fake.client(), clock), coverage).run(steps);
});
