// Keys that work everywhere on a page, unless somebody is typing. Two keys in a row (`g q`) are one name.

import { useEffect, useRef } from "react";

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest("dialog[open]"));

/** Where Enter means something already. */
const isPressable = (target: EventTarget | null) =>
  target instanceof Element && target.closest("a, button, summary") !== null;

const pairMs = 1_000;
/** What begins a pair: the key after it means nothing by itself. */
const prefix = "g";

let [before, current] = [
  { key: "", at: 0 },
  { key: "", at: 0 },
];
addEventListener(
  "keydown",
  ({ key, timeStamp: at }) => {
    [before, current] = [current, { key, at }];
  },
  true,
);

export function useKeys(map: KeyMap): void {
  const latest = useRef(map);
  latest.current = map;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      if (event.key === "Enter" && isPressable(event.target)) return;
      const isPair = before.key === prefix && event.timeStamp - before.at < pairMs;
      const action = latest.current[isPair ? `${prefix} ${event.key}` : event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
