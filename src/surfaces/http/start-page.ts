// The page behind the printed link: signs in with the link's code and shows, live, what the fleet does.

export const startPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dibs</title>
<link rel="stylesheet" href="/start.css">
<script src="/start.js" type="module"></script>
</head>
<body>
<header><h1>Dibs</h1><p id="status" role="status">Connecting…</p></header>
<main>
<section aria-labelledby="queue"><h2 id="queue">Tasks</h2><dl id="counts"></dl></section>
<section aria-labelledby="fleet"><h2 id="fleet">Sessions</h2><ul id="sessions"></ul></section>
<section aria-labelledby="log"><h2 id="log">Events</h2><ol id="events" reversed></ol></section>
<p>The <a href="/reference">API reference</a> lists everything this server can do.</p>
</main>
</body>
</html>
`;

export const startCss = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
h1 { margin: 0; } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
#status { margin: 0; color: GrayText; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 0; }
dl div { display: flex; gap: .4rem; } dt { color: GrayText; } dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
ul, ol { margin: 0; padding: 0; list-style: none; font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
li { border-top: 1px solid color-mix(in srgb, currentColor 15%, transparent); padding: .15rem 0; }
`;

export const startJs = `const byId = (id) => document.getElementById(id);
const say = (text) => { byId("status").textContent = text; };
const shownMax = 200;

async function api(path, init) {
  const answer = await fetch(path, init);
  if (!answer.ok) throw Object.assign(new Error((await answer.json().catch(() => ({}))).message ?? answer.statusText), { status: answer.status });
  return answer.json();
}

async function signIn() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  await api("/api/auth/exchange", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) });
}

function item(text) {
  const element = document.createElement("li");
  element.textContent = text;
  return element;
}

async function refresh() {
  const { by_status: counts } = await api("/api/stats?project=*");
  byId("counts").replaceChildren(...Object.entries(counts).map(([word, count]) => {
    const row = document.createElement("div");
    const name = document.createElement("dt");
    const value = document.createElement("dd");
    name.textContent = word.replaceAll("_", " ");
    value.textContent = count;
    row.append(name, value);
    return row;
  }));
  const { sessions } = await api("/api/sessions/summary?project=*&limit=100");
  byId("sessions").replaceChildren(...(sessions.length ? sessions.map(({ id, agentType, project, currentTask }) =>
    item(id + " (" + agentType + ", " + project + ") " + (currentTask ? currentTask.taskId + " " + currentTask.title : "idle"))) : [item("No session yet.")]));
}

let pending = null;
function refreshSoon() {
  pending ??= setTimeout(() => { pending = null; refresh().catch((error) => say(error.message)); }, 250);
}

function follow() {
  const stream = new EventSource("/api/events/stream?project=*");
  stream.onopen = () => { say("Live"); refreshSoon(); };
  stream.onerror = () => say("The connection is lost; trying again…");
  stream.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    const list = byId("events");
    list.prepend(item([event.seq, event.at, event.type, event.taskId, event.sessionId].filter(Boolean).join("  ")));
    while (list.childElementCount > shownMax) list.lastElementChild.remove();
    refreshSoon();
  };
}

try {
  await signIn();
  await refresh();
  follow();
} catch (error) {
  say(error.status === 401 ? "Sign in with the link that dibs serve printed. " + error.message : error.message);
}
`;
