// `trust`: a person trusts a store that came with a clone or from another user, or the server that .dibs/config.json names.

import { DibsError } from "../../../contract/error.js";
import { addressOf, isDatabaseAddress } from "../address.js";
import type { SingleCommand } from "../command.js";
import { configuredStore } from "../configured.js";
import { locationFor, serverNamed } from "../connection.js";
import type { Context } from "../context.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

/** The address that the settings name, or the store of this directory. */
async function subjectOf(context: Context): Promise<{ address: string } | { path: string }> {
  const { parts } = context;
  const { url, db } = await configuredStore(context, parts);
  const address = url ?? (db !== undefined && isDatabaseAddress(db) ? db : undefined);
  if (address !== undefined) return { address: addressOf(address) };
  const { path } = await locationFor(context, parts);
  if (path === undefined || (await serverNamed(context, parts)) !== undefined)
    throw usageError(
      "An address that is named by a flag or the environment needs no trust.",
      "Run: dibs trust",
    );
  if (await parts.files.exists(path)) return { path };
  throw new DibsError("STORE_NOT_FOUND", `No Dibs store at ${path}.`, { hint: "Run: dibs init" });
}

async function list(context: Context): Promise<void> {
  const { trust } = context.parts;
  const [stores, servers] = await Promise.all([trust.trustedStores(), trust.trustedServers()]);
  // Not a table, which would cut the paths.
  const lines = [...servers.map(plain), ...stores.map(({ id, path }) => `${id}  ${plain(path)}`)];
  context.say({ success: true, stores, servers }, () => lines.join("\n") || "no trusted stores");
}

async function remove(context: Context): Promise<void> {
  const { trust } = context.parts;
  const subject = await subjectOf(context);
  const isServer = "address" in subject;
  const removed = isServer
    ? await trust.distrustServer(subject.address)
    : await trust.distrustStore(subject.path);
  const name = isServer ? plain(subject.address) : `store ${plain(subject.path)}`;
  context.say({ success: true, ...subject, removed }, () =>
    removed ? `${name} is no longer trusted` : `${name} was not trusted`,
  );
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

async function add(context: Context): Promise<void> {
  const { trust } = context.parts;
  const subject = await subjectOf(context);
  if ("address" in subject) {
    await trust.trustServer(subject.address);
    context.say(
      { success: true, ...subject },
      (display) => `trusted ${display.paint(plain(subject.address), "bold")}`,
    );
    return;
  }
  const { path } = subject;
  const { id, tasks, tokens } = await trust.trustStore(path);
  context.say({ success: true, id, path, tasks, tokens }, (display) => {
    const inIt = `${counted(tasks, "task")}, ${counted(tokens, "token")}`;
    return `trusted ${display.paint(plain(path), "bold")}\nid ${id}, ${inIt}`;
  });
}

export const commands: Record<string, SingleCommand> = {
  trust: {
    name: "trust",
    summary: "Trust the store of this directory, or the server that .dibs/config.json names",
    details:
      "A store that came with a clone or from another user is refused until you trust it: agents run its tasks, and its tokens open your server. To see its tasks first, list a copy: cp -r .dibs /tmp/copy && dibs list --db /tmp/copy/dibs.db\n" +
      "Stores that you create are trusted, unless git tracks them: a pull can replace them. A store that you trust is trusted in its directory only. \n" +
      "If .dibs/config.json names a server or database on another machine, its address must be trusted, too: tokens are sent to it, and agents run its tasks. An address is trusted in every repository.\n" +
      "DIBS_TRUST=1 in the environment trusts every store and address that is found, for containers.",
    flags: {
      list: { help: "list trusted stores and addresses" },
      remove: { help: "no longer trust this store or address" },
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
