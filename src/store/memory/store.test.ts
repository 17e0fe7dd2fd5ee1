import { conformance } from "../conformance/index.js";
import { openMemoryStore } from "./store.js";

conformance({ name: "memory", open: async (clock) => ({ store: openMemoryStore(clock) }) });
