// The conformance suite on DynamoDB Local: all of it with DIBS_LONG=1 (npm run faults), otherwise what touches each table and
// each kind of list. All of it runs in memory each time (conformance-fake.test.ts).

import { describe } from "vitest";
import { archiving } from "../../src/store/conformance/archiving.js";
import { copying } from "../../src/store/conformance/copying.js";
import { events } from "../../src/store/conformance/events.js";
import { conformance, type Driver } from "../../src/store/conformance/index.js";
import { lifecycle } from "../../src/store/conformance/lifecycle.js";
import { ordering } from "../../src/store/conformance/ordering.js";
import { transactions } from "../../src/store/conformance/transactions.js";
import { settingsFrom } from "../../src/store/dynamodb/address.js";
import { openDynamoStore } from "../../src/store/dynamodb/store.js";
import { connectTo, hasNoLocal, newTables } from "./local.js";

const driver: Driver = {
  name: "DynamoDB Local",
  async open(clock) {
    const address = await newTables();
    const { prefix, where: location } = settingsFrom(address);
    const again = async () => openDynamoStore(await connectTo(address), { prefix, location, clock });
    return { store: await again(), again };
  },
};

const selected = [lifecycle, ordering, transactions, copying, events, archiving];

describe.skipIf(hasNoLocal)("on DynamoDB Local", () => {
  if (process.env.DIBS_LONG) conformance(driver);
  else for (const suite of selected) suite(driver);
});
