// Keys that work everywhere on a page, unless somebody is typing. Two keys in a row (`g q`) are one name.

import { useEffect, useRef } from "react";

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest("dialog[open]"));

const pairMs = 1_000;

export function useKeys(map: KeyMap): void {
  const latest = useRef(map);
  latest.current = map;
  useEffect(() => {
    let before = { key: "", at: 0 };
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      const pair = event.timeStamp - before.at < pairMs ? `${before.key} ${event.key}` : "";
      const action = latest.current[pair] ?? latest.current[event.key];
      before = { key: event.key, at: event.timeStamp };
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
