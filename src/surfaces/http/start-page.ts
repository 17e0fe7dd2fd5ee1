// The page behind the printed link: signs in with the link's code and shows, live, what the fleet does. Whatever agents wrote
// reaches it as text only, never as markup.

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' " +
  "fill='%230b57b8'/%3E%3Cpath d='M4.5 8.5l2.5 2.5 4.5-5.5' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E";

export const startPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dibs</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/start.css">
<script src="/start.js" type="module"></script>
</head>
<body>
<header>
<h1>Dibs</h1>
<p id="status" role="status" data-state="waiting">Connecting…</p>
<a href="/reference">API reference</a>
</header>
<main id="out" hidden>
<h2 id="out-title">Not signed in</h2>
<p id="out-hint"></p>
</main>
<main id="in" hidden>
<section aria-labelledby="tasks"><h2 id="tasks">Tasks</h2><dl id="counts"></dl></section>
<section aria-labelledby="needs"><h2 id="needs">Questions</h2><ul id="questions"></ul></section>
<section aria-labelledby="fleet"><h2 id="fleet">Sessions</h2><ul id="sessions"></ul></section>
<section aria-labelledby="log"><h2 id="log">Events</h2><ol id="events" reversed></ol></section>
</main>
</body>
</html>
`;

export const startCss = `:root {
  color-scheme: light dark;
  --page: #fff;
  --panel: #f6f7f9;
  --line: #dfe3e8;
  --text: #1c2127;
  --quiet: #59636f;
  --link: #0b57b8;
  --good: #0a6b3d;
  --wait: #8a5300;
  --bad: #b3261e;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161b;
    --panel: #1b2129;
    --line: #2f3843;
    --text: #e3e8ee;
    --quiet: #9aa7b5;
    --link: #7db4ff;
    --good: #6bd39a;
    --wait: #f0b35b;
    --bad: #ff938a;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0 auto;
  max-width: 62rem;
  padding: 1.25rem 1.25rem 4rem;
  background: var(--page);
  color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; padding-bottom: .75rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.375rem; line-height: 1.2; }
header a { margin-left: auto; font-size: .875rem; }
#status { margin: 0; color: var(--quiet); font-size: .875rem; }
#status::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .4rem; border-radius: 50%; background: var(--wait); }
#status[data-state="live"]::before { background: var(--good); }
#status[data-state="out"]::before { background: var(--bad); }
h2 { margin: 2rem 0 .5rem; font-size: 1rem; line-height: 1.3; }
#out { max-width: 36rem; margin: 4rem auto; padding: 1.5rem; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); }
#out h2 { margin-top: 0; }
#out p { margin: 0; color: var(--quiet); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .75rem; margin: 0; }
dl div { display: flex; flex-direction: column-reverse; padding: .625rem .875rem; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); }
dt { color: var(--quiet); font-size: .8125rem; }
dd { margin: 0; font-size: 1.5rem; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums; }
dd.none { color: var(--quiet); font-weight: 400; }
ul, ol { margin: 0; padding: 0; list-style: none; font-size: .875rem; }
li { display: flex; flex-wrap: wrap; gap: .125rem .75rem; padding: .375rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
li > * { min-width: 0; }
.id, time { font-family: var(--mono); font-size: .8125rem; }
.quiet, time { color: var(--quiet); }
.grows { flex: 1 1 16rem; }
#sessions .id { flex: 0 0 14rem; }
#events time { flex: 0 0 6rem; white-space: nowrap; }
#events .type { flex: 0 0 11rem; }
#events .id { flex: 0 0 8rem; }
.good { color: var(--good); }
.wait { color: var(--wait); }
.bad { color: var(--bad); }
`;

export const startJs = `const byId = (id) => document.getElementById(id);
const shownMax = 200;
const refreshMs = 300;
const againMs = 3000;

function say(state, text) {
  byId("status").dataset.state = state;
  byId("status").textContent = text;
}

function show(isIn) {
  byId("in").hidden = !isIn;
  byId("out").hidden = isIn;
}

async function api(path, init) {
  const answer = await fetch(path, init);
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  throw Object.assign(new Error(body.message ?? answer.statusText), { status: answer.status, hint: body.hint });
}

/** The code in the address is good once: it leaves the address before anything else happens. */
async function signIn() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return null;
  history.replaceState(null, "", location.pathname + location.search);
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) };
  return api("/api/auth/exchange", init).then(() => null, (error) => error);
}

/** Texts go in as text. */
function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  return made;
}

function row(...parts) {
  const made = element("li");
  made.append(...parts.filter(Boolean));
  return made;
}

const orNone = (rows, text) => (rows.length ? rows : [row(element("span", "quiet", text))]);

function countOf([word, count]) {
  const made = element("div");
  made.append(element("dt", "", word.replaceAll("_", " ")), element("dd", count ? "" : "none", count));
  return made;
}

function questionOf({ id, question }) {
  return row(element("span", "id", id), element("span", "grows", question?.text), question?.options && element("span", "quiet", question.options.join(" · ")));
}

function sessionOf({ id, agentType, project, currentTask }) {
  const task = currentTask ? currentTask.taskId + "  " + currentTask.title : "idle";
  return row(element("span", "id", id), element("span", "quiet", agentType + " · " + project), element("span", "grows " + (currentTask ? "" : "quiet"), task));
}

async function refresh() {
  const [{ by_status: counts }, { questions }, { sessions }] = await Promise.all([
    api("/api/stats?project=*"),
    api("/api/inbox?project=*&limit=20"),
    api("/api/sessions/summary?project=*&limit=100"),
  ]);
  byId("counts").replaceChildren(...Object.entries(counts).map(countOf));
  byId("questions").replaceChildren(...orNone(questions.map(questionOf), "No agent waits for an answer."));
  byId("sessions").replaceChildren(...orNone(sessions.map(sessionOf), "No agent has registered yet."));
  show(true);
}

let isLive = false;
let pending = null;
function refreshSoon() {
  pending ??= setTimeout(() => {
    pending = null;
    refresh().then(() => isLive && say("live", "Live"), outOr((error) => say("waiting", error.message)));
  }, refreshMs);
}

const toneOf = (type) => (/completed|unblocked/.test(type) ? "good" : /failed|expired|orphaned|cancelled/.test(type) ? "bad" : /awaiting|retry|released/.test(type) ? "wait" : "");

function eventOf({ at, type, taskId, sessionId, data }) {
  const time = element("time", "", new Date(at).toLocaleTimeString());
  time.dateTime = time.title = at;
  const more = [data?.title, data?.note, data?.question, data?.error, data?.reason].find((each) => typeof each === "string");
  return row(time, element("span", "type " + toneOf(type), type), element("span", "id", taskId ?? ""), sessionId && element("span", "quiet", sessionId), more && element("span", "grows quiet", more.slice(0, 200)));
}

let came = [];
function showEvents() {
  const list = byId("events");
  if (list.querySelector("time") === null) list.replaceChildren();
  list.prepend(...came.slice(-shownMax).reverse().map(eventOf));
  came = [];
  while (list.childElementCount > shownMax) list.lastElementChild.remove();
}

function follow() {
  const stream = new EventSource("/api/events/stream?project=*");
  stream.onopen = () => {
    isLive = true;
    say("live", "Live");
    refreshSoon();
  };
  stream.onerror = () => {
    isLive = false;
    say("waiting", "The connection is lost; trying again…");
    if (stream.readyState !== EventSource.CLOSED) return;
    // It was refused, and a browser does not come back by itself.
    refresh().then(again, outOr(again));
  };
  stream.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.type === "reset") return refreshSoon();
    if (came.push(event) === 1) requestAnimationFrame(showEvents);
    if (came.length > 2 * shownMax) came = came.slice(-shownMax);
    refreshSoon();
  };
}

const again = () => setTimeout(follow, againMs);

/** Who is not signed in learns how to be; any other trouble is somebody else's. */
const outOr = (other) => (error) => {
  if (error.status !== 401) return other(error);
  signedOut(error);
};

function signedOut({ message, hint }) {
  say("out", "Not signed in");
  byId("out-title").textContent = message;
  byId("out-hint").textContent = hint ?? "";
  show(false);
}

const usual = {
  message: "You are not signed in.",
  hint: "Open the link that dibs serve prints when it starts. It works once; after that this browser is known.",
};

const failed = await signIn();
byId("events").replaceChildren(...orNone([], "Nothing has happened since this page was opened."));
try {
  await refresh();
  follow();
} catch (error) {
  if (error.status === 401) signedOut(failed ?? usual);
  else {
    say("waiting", error.message);
    again();
  }
}
`;
