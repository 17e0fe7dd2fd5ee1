const states = [
  ["link", "running"],
  ["good", "ready, submitted or done"],
  ["wait", "waiting for an answer"],
  ["calm", "blocked or scheduled"],
  ["bad", "failed"],
] as const;

const lines = [
  ["dependency", "dependency"],
  ["parent", "subtask of (first subtasks only)"],
  ["critical", "longest open chain"],
] as const;

const partsHint =
  "Subtasks that depend on another subtask have no line to their parent: hover over their title.";

export function Legend() {
  return (
    <ul className="row wrapping small quiet graph-legend" aria-label="Legend">
      {states.map(([tone, meaning]) => (
        <li key={tone} className="row">
          <span className={`graph-key ${tone}`} aria-hidden="true" />
          {meaning}
        </li>
      ))}
      {lines.map(([kind, meaning]) => (
        <li key={kind} className="row" title={kind === "parent" ? partsHint : undefined}>
          <svg className={`graph-line ${kind}`} width="28" height="8" aria-hidden="true">
            <path d="M0 4H28" />
          </svg>
          {meaning}
        </li>
      ))}
    </ul>
  );
}
