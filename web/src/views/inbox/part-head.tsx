// The head of a part of the inbox: how many there are, and what has come while the list was held still.

import type { ReactNode } from "react";

interface PartHeadProps {
  id: string;
  title: string;
  count: number;
  hasMore: boolean;
  stable: { waiting: number; release: () => void };
  children?: ReactNode;
}

export function PartHead({ id, title, count, hasMore, stable, children }: PartHeadProps) {
  return (
    <div className="row">
      <h2 id={id}>
        {title}{" "}
        <span className="quiet">
          {count}
          {hasMore && "+"}
        </span>
      </h2>
      {stable.waiting > 0 && (
        <button type="button" className="small" onClick={stable.release}>
          {stable.waiting} new
        </button>
      )}
      {children}
    </div>
  );
}
