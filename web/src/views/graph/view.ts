// Which part of the drawing is in sight. It is chosen once, when people ask for something else to be drawn; afterwards it is theirs:
// a layout that changes by itself moves nothing under their eyes, and only what they follow moves the view.

import { useReactFlow, type Viewport } from "@xyflow/react";
import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { type Laid, nodeSize, type Places } from "./layout.js";

/** Smaller cannot be read. */
const readableZoom = 0.75;
const margin = 16;

interface Point {
  x: number;
  y: number;
}

interface Size {
  width: number;
  height: number;
}

interface ViewOptions {
  laid: Laid | null;
  /** Looked at first where not everything can be. */
  anchor: string | null;
  /** The task that is followed. */
  followed: string | null;
  frame: RefObject<HTMLElement | null>;
  isReady: boolean;
}

export function useView({ laid, anchor, followed, frame, isReady }: ViewOptions): void {
  const flow = useReactFlow();
  const shown = useRef<Laid | null>(null);
  const first = useRef(anchor);
  first.current = followed ?? anchor;

  useLayoutEffect(() => {
    if (!laid || !isReady || !frame.current) return;
    const size = sizeOf(frame.current);
    const before = shown.current;
    shown.current = laid;
    if (before?.request === laid.request) void flow.setViewport(kept(flow.getViewport(), size, before, laid));
    else void flow.setViewport(beginning(laid.places, size, first.current));
  }, [laid, isReady, flow, frame]);

  const place = followed === null ? undefined : laid?.places.get(followed);
  const latest = useRef({ place, laid });
  latest.current = { place, laid };
  const isPlaced = place !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it moves for another task, not for another layout.
  useEffect(() => {
    const { place, laid } = latest.current;
    if (!place || !laid || !isReady || !frame.current) return;
    const zoom = Math.max(readableZoom, Math.min(1, flow.getZoom()));
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const target = centred(place, laid.places, sizeOf(frame.current), zoom);
    void flow.setViewport(target, isCalm ? {} : { duration: 300 });
  }, [followed, isPlaced, isReady, flow, frame]);
}

const sizeOf = ({ clientWidth, clientHeight }: HTMLElement): Size => ({
  width: clientWidth,
  height: clientHeight,
});

/** Everything, if that can be read; else the surroundings of one task. */
function beginning(places: Places, size: Size, anchor: string | null): Viewport {
  const { left, top, right, bottom } = boundsOf(places);
  const fitting = Math.min(
    (size.width - 2 * margin) / (right - left),
    (size.height - 2 * margin) / (bottom - top),
  );
  const zoom = Math.min(1, Math.max(readableZoom, fitting));
  const point = (anchor === null ? undefined : places.get(anchor)) ?? { x: left, y: top };
  return centred(point, places, size, zoom);
}

/** A task in the middle; nearer to the edge where there would be nothing beyond it. What fits altogether is centred as a whole. */
function centred(at: Point, places: Places, size: Size, zoom: number): Viewport {
  const { left, top, right, bottom } = boundsOf(places);
  const along = (middle: number, from: number, to: number, length: number) => {
    const space = margin / zoom;
    const [low, high] = [from - space + length / zoom / 2, to + space - length / zoom / 2];
    const center = low > high ? (from + to) / 2 : Math.min(high, Math.max(low, middle));
    return length / 2 - center * zoom;
  };
  return {
    x: along(at.x + nodeSize.width / 2, left, right, size.width),
    y: along(at.y + nodeSize.height / 2, top, bottom, size.height),
    zoom,
  };
}

/** The node nearest to the middle stays where it is on the screen. */
function kept(viewport: Viewport, size: Size, before: Laid, after: Laid): Viewport {
  const { x, y, zoom } = viewport;
  const middle = { x: (size.width / 2 - x) / zoom, y: (size.height / 2 - y) / zoom };
  let shift = { x: 0, y: 0 };
  let least = Number.POSITIVE_INFINITY;
  for (const [id, old] of before.places) {
    const next = after.places.get(id);
    const distance = Math.hypot(
      old.x + nodeSize.width / 2 - middle.x,
      old.y + nodeSize.height / 2 - middle.y,
    );
    if (!next || distance >= least) continue;
    least = distance;
    shift = { x: next.x - old.x, y: next.y - old.y };
  }
  return { x: x - shift.x * zoom, y: y - shift.y * zoom, zoom };
}

function boundsOf(places: Places) {
  const bounds = { left: 0, top: 0, right: nodeSize.width, bottom: nodeSize.height };
  for (const { x, y } of places.values()) {
    bounds.right = Math.max(bounds.right, x + nodeSize.width);
    bounds.bottom = Math.max(bounds.bottom, y + nodeSize.height);
  }
  return bounds;
}
