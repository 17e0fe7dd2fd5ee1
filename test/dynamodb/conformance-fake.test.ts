import { conformance } from "../../src/store/conformance/index.js";
import { openDynamoStore } from "../../src/store/dynamodb/store.js";
import { createTables } from "../../src/store/dynamodb/tables.js";
import { FakeDynamo } from "./fake.js";

conformance({
  name: "dynamodb",
  async open(clock) {
    const fake = new FakeDynamo();
    await createTables(fake.client(), "t");
    const again = () => openDynamoStore(fake.client(), { prefix: "t", location: "a fake", clock });
    return { store: await again(), again };
  },
});
