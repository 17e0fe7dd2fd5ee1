import type { Org } from "../../../core/project.js";
import type { Place, Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { rowCodec, stored } from "../row-codec.js";

export const place = (keys: OrgKeys): Place => keys.at("log", "ORG");

export const codec = rowCodec<Org>("org", {
  org: stored,
  eventSeq: stored,
  eventMin: stored,
  ordinal: stored,
  notificationSeq: stored,
  lastAt: stored,
  highestAt: stored,
  defaultProject: stored,
  createdAt: stored,
});

export const write = (keys: OrgKeys, org: Org): Write => ({ ...place(keys), data: codec.encode(org) });
