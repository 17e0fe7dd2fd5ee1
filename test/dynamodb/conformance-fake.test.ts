import { conformance } from "../../src/store/conformance/index.js";
import { fakeDriver } from "./support.js";

conformance(fakeDriver);
