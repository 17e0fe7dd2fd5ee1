import { Dialog } from "./components/parts.js";

const keys: [string, string][] = [
  ["g f", "Fleet"],
  ["g q", "Queue"],
  ["g i", "Inbox"],
  ["g l", "Landing"],
  ["g g", "Graph"],
  ["g m", "Metrics"],
  ["/", "In the queue: filter"],
  ["j k", "In the queue, the inbox and the landing view: down and up"],
  ["Enter", "In the queue, the inbox and the landing view: open; on a question: answer"],
  ["x", "In the queue: select; with Shift a range"],
  ["n a r", "In the queue: new task, bulk action, sort again"],
  ["e c r a", "On a task: edit, cancel, retry, answer"],
  ["u y", "On a task: release by force, copy as a command"],
  ["1 … 9", "On a question: choose an option; Enter sends the answer"],
  ["a r d", "In the inbox: type an answer, retry, mark as read"],
  ["a x p", "On a submission: approve, request changes, open the patch"],
  ["Esc", "Close; on a task: back to where you came from"],
  ["?", "This help"],
];

const terms: [string, string][] = [
  [
    "is:blocked",
    "ready, scheduled, claimed, running, waiting, submitted, done, failed, cancelled, open, ended, stale, group",
  ],
  ["agent:a7", "claimed by a session (id or name) or an agent type; if not claimed: assigned to it"],
  ["words", "in titles, ids and labels; with three letters or more also in prompts"],
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
