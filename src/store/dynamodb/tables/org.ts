import type { Org } from "../../../core/project.js";
import type { Place, Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { metaKey } from "../meta.js";
import { rowCodec, stored } from "../row-codec.js";

/** In the item that every step of an applier writes anyway. */
export const place = (keys: OrgKeys): Place => keys.at("log", metaKey);

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
