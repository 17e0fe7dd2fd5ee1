import { Dialog } from "./components/parts.js";

const keys: [string, string][] = [
  ["g f", "Fleet"],
  ["g q", "Queue"],
  ["g i", "Inbox"],
  ["g g", "Graph"],
  ["g m", "Metrics"],
  ["/", "In the queue: filter"],
  ["j k", "In the queue and the inbox: down and up"],
  ["Enter", "In the queue and the inbox: open; on a question: answer"],
  ["x", "In the queue: select; Shift for a range"],
  ["n a r", "In the queue: new task, act on many, sort anew"],
  ["e c r a", "On a task: edit, cancel, retry, answer"],
  ["u y", "On a task: release by force, copy as a command"],
  ["1 … 9", "Where something is asked: pick an option; Enter answers"],
  ["a r d", "In the inbox: type an answer, retry, mark as read"],
  ["Esc", "Close; on a task: back to where you came from"],
  ["?", "This help"],
];

const terms: [string, string][] = [
  [
    "is:blocked",
    "ready, scheduled, claimed, running, waiting, done, failed, cancelled, open, ended, stale, group",
  ],
  ["agent:a7", "held by a session (its id or its name) or an agent type; if nobody holds it: meant for them"],
  ["words", "in titles, ids and labels; from three letters on also in prompts"],
  ["label:ui,api", "any of these labels"],
  ["age:>1h", "older than; idle: since it last changed"],
  ["priority:>70", "or a word: priority:high"],
  ["-is:done", "not"],
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys and filters" onClose={onClose}>
      <div className="stack">
        <dl className="pairs">
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <h3>Filters</h3>
        <dl className="pairs">
          {terms.map(([term, what]) => (
            <div key={term}>
              <dt>
                <code>{term}</code>
              </dt>
              <dd className="quiet">{what}</dd>
            </div>
          ))}
        </dl>
        <div className="actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
