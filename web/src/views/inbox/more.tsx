interface MoreProps {
  what: string;
  /** Null: no more can be read at once. */
  onMore: (() => void) | null;
}

/** Below a part of the inbox that is not shown whole. */
export function More({ what, onMore }: MoreProps) {
  if (onMore === null)
    return <p className="quiet small">There are more {what}; they appear when these are done.</p>;
  return (
    <button type="button" onClick={onMore}>
      Show more {what}
    </button>
  );
}
