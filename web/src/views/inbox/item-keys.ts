// The keyboard in the inbox and the landing view: j and k go from item to item, whatever kind they are; an item that has the focus
// takes keys of its own.

import { type RefObject, useEffect, useRef } from "react";
import { useKeys } from "../../keys.js";

/** For the view as a whole. */
export function useItemSteps(itemClass = "inbox-item"): void {
  const step = (by: 1 | -1) => {
    const items = [...document.querySelectorAll<HTMLElement>(`.${itemClass}`)];
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const next = items[at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
}

/** A dialog stands in the item that opened it; its keys are its own. */
const isInDialog = (target: EventTarget | null) =>
  target instanceof Element && target.closest("dialog[open]") !== null;

const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** For one item; `Enter` counts only on the item itself, where no button or link means something else by it. */
export function useItemKeys(item: RefObject<HTMLElement | null>, keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const element = item.current!;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isInDialog(event.target)) return;
      const isLeaving = isField(event.target) && event.key === "Escape";
      const isOurs = event.key === "Enter" ? event.target === element : !isField(event.target);
      const action = isLeaving ? () => element.focus() : isOurs ? latest.current[event.key] : undefined;
      if (!action) return;
      event.preventDefault();
      action();
    };
    element.addEventListener("keydown", press);
    return () => element.removeEventListener("keydown", press);
  }, [item]);
}
