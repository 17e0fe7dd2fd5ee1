// Tasks that wait for each other. Tarjan's components, iteratively: chains may be long.

/** One shortest cycle of every knot, closed (`a b a`). */
export function cyclesOf<T extends object>(nodes: readonly T[], edges: (node: T) => readonly T[]): T[][] {
  return knotsOf(nodes, edges).map((knot) => cycleIn(knot, edges));
}

interface Frame<T extends object> {
  node: T;
  next: number;
}

function knotsOf<T extends object>(nodes: readonly T[], edges: (node: T) => readonly T[]): T[][] {
  const order = new Map<T, number>();
  const low = new Map<T, number>();
  const open: T[] = [];
  const isOpen = new Set<T>();
  const knots: T[][] = [];
  const enter = (node: T): Frame<T> => {
    order.set(node, order.size);
    low.set(node, order.get(node)!);
    open.push(node);
    isOpen.add(node);
    return { node, next: 0 };
  };
  const leave = (node: T) => {
    if (low.get(node) !== order.get(node)) return;
    const knot: T[] = [];
    for (let member: T | undefined; member !== node; ) {
      member = open.pop()!;
      isOpen.delete(member);
      knot.push(member);
    }
    if (knot.length > 1 || edges(node).includes(node)) knots.push(knot);
  };
  for (const start of nodes) {
    if (order.has(start)) continue;
    const path = [enter(start)];
    while (path.length > 0) {
      const frame = path.at(-1)!;
      const target = edges(frame.node)[frame.next++];
      if (target === undefined) {
        leave(frame.node);
        path.pop();
        const above = path.at(-1);
        if (above) low.set(above.node, Math.min(low.get(above.node)!, low.get(frame.node)!));
      } else if (!order.has(target)) path.push(enter(target));
      else if (isOpen.has(target)) low.set(frame.node, Math.min(low.get(frame.node)!, order.get(target)!));
    }
  }
  return knots;
}

function cycleIn<T extends object>(knot: T[], edges: (node: T) => readonly T[]): T[] {
  const members = new Set(knot);
  const start = knot.at(-1)!;
  const from = new Map<T, T>();
  const queue = [start];
  for (const node of queue) {
    for (const target of edges(node)) {
      if (!members.has(target)) continue;
      if (target === start) return [...walkBack(node, from), start];
      if (from.has(target)) continue;
      from.set(target, node);
      queue.push(target);
    }
  }
  return [start, start];
}

function walkBack<T extends object>(end: T, from: Map<T, T>): T[] {
  const path = [end];
  for (let node = from.get(end); node !== undefined; node = from.get(node)) path.push(node);
  return path.reverse();
}
