// What a key means in the list. Shift makes a range of a move.

interface Press {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

interface Where {
  place: number;
  last: number;
  pageRows: number;
}

export type ListAction =
  | { kind: "move"; to: number; isRange: boolean }
  | { kind: "toggle"; isRange: boolean }
  | { kind: "open" | "all" | "leave" };

export function listAction(press: Press, { place, last, pageRows }: Where): ListAction | null {
  const { key, shiftKey: isRange, ctrlKey, metaKey, altKey } = press;
  if (altKey) return null;
  if (ctrlKey || metaKey) return key.toLowerCase() === "a" ? { kind: "all" } : null;
  const move = (to: number) => ({ kind: "move", to, isRange }) as const;
  switch (key) {
    case "j":
    case "J":
    case "ArrowDown":
      return move(place + 1);
    case "k":
    case "K":
    case "ArrowUp":
      return move(place - 1);
    case "PageDown":
      return move(place + pageRows);
    case "PageUp":
      return move(place - pageRows);
    case "Home":
      return move(0);
    case "End":
      return move(last);
    case "x":
    case "X":
    case " ":
      return { kind: "toggle", isRange };
    case "Enter":
      return { kind: "open" };
    case "Escape":
      return { kind: "leave" };
    default:
      return null;
  }
}
