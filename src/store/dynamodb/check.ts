// Reads every row of an org through its decoder, for `dibs doctor`.

import { Unreadable } from "../unreadable.js";
import { copyOf } from "./copy.js";
import { beginning, type Span } from "./items.js";
import type { OrgStore } from "./org-store.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as event from "./tables/event.js";
import * as notification from "./tables/notification.js";
import * as project from "./tables/project.js";
import * as record from "./tables/record.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";

export async function unreadableRows({ log }: OrgStore): Promise<string[]> {
  const { keys } = log;
  const { items } = await copyOf(log);
  const found = new Unreadable();
  const check = (span: Span, decode: (data: string, sk: string) => unknown) => {
    for (const { data, sk } of items.between(span)) found.check(() => decode(data, sk));
  };
  check(beginning(keys.at("counts", "PROJECT#")), project.decode);
  check(beginning(keys.at("tasks", "TASK#")), task.decode);
  check(claim.span(keys), claim.codec.decode);
  for (const each of items.between(task.everyTask(keys))) {
    check({ ...task.spanOfTask(keys, each), ...attempt.check.range }, attempt.check.decode);
  }
  check(beginning(keys.at("agents", "AGENT#")), session.codec.decode);
  check(beginning(keys.at("agents", "RECORD#")), record.decode);
  check(beginning(keys.at("log", "SEQ#")), event.check(keys.org));
  check(beginning(keys.at("notifications", "N#")), notification.codec.decode);
  return found.problems;
}
