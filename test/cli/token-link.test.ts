// A fresh link for a browser, at any time, and for less than one may oneself.

import { expect, test } from "vitest";
import { type Desk, deskWithStore, openDesk } from "./desk.js";

/** Who the link makes one, as a browser would learn it. */
async function roleBy(link: string): Promise<unknown> {
  const { origin, hash } = new URL(link);
  const answer = await fetch(`${origin}/api/auth/exchange`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ code: hash.replace("#code=", "") }),
  });
  const cookie = answer.headers.get("set-cookie")?.split(";")[0];
  if (!cookie) return ((await answer.json()) as { error: string }).error;
  const me = await fetch(`${origin}/api/auth/me`, { headers: { cookie } });
  return ((await me.json()) as { role: string }).role;
}

const tokenFor = async (desk: Desk, role: string) =>
  (await desk.json(["token", "create", "--role", role])).token as string;

test("a link signs in once, with the role of who asked or a lesser one", async () => {
  const desk = await openDesk("server");
  const link = (await desk.says(["token", "link"])).trim();
  expect(await roleBy(link)).toBe("admin");
  expect(await roleBy(link)).toBe("UNAUTHENTICATED");
  const { link: lesser, expiresAt } = await desk.json(["token", "link", "--role", "viewer"]);
  expect(Date.parse(expiresAt)).toBeGreaterThan(desk.clock.now());
  expect(await roleBy(lesser)).toBe("viewer");
});

test("nobody lets others do more than they may themselves", async () => {
  const desk = await openDesk("server");
  const token = await tokenFor(desk, "worker");
  const { code, err } = await desk.dibs(["token", "link", "--role", "leader", "--token", token]);
  expect(code).not.toBe(0);
  expect(err).toContain("Role worker cannot create a link for role leader.");
});

test("without a server there is nothing to link to", async () => {
  const desk = await deskWithStore("embedded");
  const { code, err } = await desk.dibs(["token", "link"]);
  expect(code).toBe(2);
  expect(err).toContain("dibs serve");
});
