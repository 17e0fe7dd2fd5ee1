// A connection for commands that stay. A server that was found for a store may stop, or come back elsewhere: when it cannot be reached,
// the next call looks for it again, and uses the store itself if there is none, as any other command would.

import type { Dibs, FollowOptions } from "../../client/client.js";
import { DibsError } from "../../contract/error.js";
import { connectionFor, serverNamed } from "./connection.js";
import type { Context } from "./context.js";

const away: readonly string[] = ["STORE_UNAVAILABLE", "STORE_CLOSED"];

export interface Lasting {
  dibs: Dibs;
  close(): Promise<void>;
}

export async function lastingDibs(context: Context): Promise<Lasting> {
  const { parts } = context;
  // A server that was named is meant, and no other.
  if (serverNamed(context, parts)) return { dibs: await context.dibs(), close: async () => undefined };
  const opened = new Set<Dibs>();
  const open = async () => {
    const dibs = await connectionFor(context, parts);
    opened.add(dibs);
    return dibs;
  };
  let current = open();
  await current;
  const leave = (used: Promise<Dibs>) => {
    if (current !== used) return;
    current = open();
    current.catch(() => undefined);
  };
  const call = async (group: keyof Dibs, method: string, given: unknown[]) => {
    const used = current;
    try {
      const methods = (await used)[group] as unknown as Record<
        string,
        (...given: unknown[]) => Promise<unknown>
      >;
      return await methods[method]!(...given);
    } catch (error) {
      if (!(error instanceof DibsError) || away.includes(error.code)) leave(used);
      throw error;
    }
  };
  async function* follow(options?: FollowOptions) {
    yield* (await current).events.follow(options);
  }
  const dibs = new Proxy({} as Dibs, {
    get: (_, group: keyof Dibs) =>
      new Proxy(
        {},
        {
          get: (_, method: string) =>
            method === "follow" ? follow : (...given: unknown[]) => call(group, method, given),
        },
      ),
  });
  return {
    dibs,
    close: async () => void (await Promise.allSettled([...opened].map((each) => each.close()))),
  };
}
