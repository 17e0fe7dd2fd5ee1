import { type Project, type Settings, wholeSettings } from "../../../core/project.js";
import type { Tolerant } from "../../../core/view.js";
import { isObject, need } from "../../unreadable.js";
import { beginning, type Place, type Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { decodeFound } from "../listing.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";

const page = 1_000;

export const place = (keys: OrgKeys, id: string): Place => keys.at("counts", `PROJECT#${id}`);

export const decode = decoder("project", (data): Project => {
  const { settings, ...project } = JSON.parse(data);
  need(isObject(settings), "settings");
  return { ...project, settings: wholeSettings(settings as Partial<Settings>) };
});

export const write = (keys: OrgKeys, project: Project): Write => ({
  ...place(keys, project.id),
  data: JSON.stringify(project),
});

export const list = (keys: OrgKeys, reader: Reader, filter?: Tolerant): Project[] =>
  decodeFound([...reader.scan(beginning(place(keys, "")), { page })], decode, filter?.readableOnly);
