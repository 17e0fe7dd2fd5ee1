// `trust`: a person trusts a store that came with a clone or from another user.

import { DibsError } from "../../../contract/error.js";
import type { SingleCommand } from "../command.js";
import { locationFor, serverNamed } from "../connection.js";
import type { Context } from "../context.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

async function databaseOf(context: Context): Promise<string> {
  const { parts } = context;
  const { path } = await locationFor(context, parts);
  if (path === undefined || serverNamed(context, parts) !== undefined)
    throw usageError(
      "Only stores that are files are trusted.",
      "Run it without --url, in the directory of the store.",
    );
  if (await parts.files.exists(path)) return path;
  throw new DibsError("NOT_FOUND", `Store ${path} not found.`, { hint: "Run: dibs init" });
}

async function list(context: Context): Promise<void> {
  const stores = await context.parts.trust.trustedStores();
  // Not a table, which would cut the paths.
  context.say({ success: true, stores }, () =>
    stores.length === 0
      ? "no trusted stores"
      : stores.map(({ id, path }) => `${id}  ${plain(path)}`).join("\n"),
  );
}

async function remove(context: Context): Promise<void> {
  const path = await databaseOf(context);
  const removed = await context.parts.trust.distrustStore(path);
  context.say({ success: true, path, removed }, () =>
    removed ? `store ${plain(path)} is no longer trusted` : `store ${plain(path)} was not trusted`,
  );
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

async function add(context: Context): Promise<void> {
  const path = await databaseOf(context);
  const { id, tasks, tokens } = await context.parts.trust.trustStore(path);
  context.say({ success: true, id, path, tasks, tokens }, (look) => {
    const inIt = `${counted(tasks, "task")}, ${counted(tokens, "token")}`;
    return `trusted ${look.paint(plain(path), "bold")}\nid ${id}, ${inIt}`;
  });
}

export const commands: Record<string, SingleCommand> = {
  trust: {
    name: "trust",
    summary: "Trust the store of this directory, which you did not create",
    details:
      "A store that came with a clone or from another user is refused until you trust it: agents run its tasks, and its tokens open your server. To see its tasks first, list a copy: cp -r .dibs /tmp/copy && dibs list --db /tmp/copy/dibs.db\n" +
      "Stores that you create are trusted, unless git tracks them: a pull can replace them. A store that you trust is trusted in its directory only. DIBS_TRUST=1 in the environment trusts every store that is found, for containers.",
    flags: {
      list: { help: "list the trusted stores" },
      remove: { help: "remove this store from the trusted ones" },
    },
    examples: ["dibs trust", "dibs trust --list"],
    async run(context) {
      if (context.on("list") && context.on("remove"))
        throw usageError("--list and --remove cannot be combined.", "Run: dibs trust --list");
      if (context.on("list")) return list(context);
      return context.on("remove") ? remove(context) : add(context);
    },
  },
};
