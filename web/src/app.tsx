// The frame around every view: where one can go, which project is meant, whether what is shown is live.

import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { badgeOf } from "../../src/client/view/inbox.js";
import { LoadError } from "./components/load-error.js";
import { Empty } from "./components/parts.js";
import { Toasts } from "./components/toasts.js";
import { dibs, isSignedOut } from "./data/dibs.js";
import { useLive, useStreamStatus } from "./data/live.js";
import { isSignedIn, ownRole } from "./data/me.js";
import type { Refused } from "./data/sign-in.js";
import { signOut } from "./data/sign-in.js";
import { stream } from "./data/stream.js";
import { Help } from "./help.js";
import { useKeys } from "./keys.js";
import { hrefTo, Link, navigate, usePlace } from "./router.js";
import { Boundary } from "./shell/boundary.js";
import { LiveMark, StaleBanner } from "./shell/live-mark.js";
import { PausedMark } from "./shell/paused-mark.js";
import { ProjectChoice } from "./shell/project-choice.js";
import { SignedOut } from "./shell/signed-out.js";
import { toggleTheme } from "./theme.js";
import { Fleet } from "./views/fleet/fleet.js";
import { Inbox } from "./views/inbox/inbox.js";
import { useInboxContent } from "./views/inbox/use-inbox.js";
import { Landing } from "./views/landing/landing.js";
import { Queue } from "./views/queue/queue.js";
import { Start } from "./views/start/start.js";
import { TaskPage } from "./views/task/task-page.js";

// Big and seldom looked at first: loaded when opened.
const Graph = lazy(() => import("./views/graph/graph.js"));
const Metrics = lazy(() => import("./views/metrics/metrics.js"));

const views = [
  { path: "/", name: "Fleet", keys: "g f" },
  { path: "/queue", name: "Queue", keys: "g q" },
  { path: "/inbox", name: "Inbox", keys: "g i" },
  { path: "/landing", name: "Landing", keys: "g l" },
  { path: "/graph", name: "Graph", keys: "g g" },
  // /metrics itself is for Prometheus.
  { path: "/figures", name: "Metrics", keys: "g m" },
] as const;

export function App({ refused }: { refused: Refused | null }) {
  const stats = useLive("stats", () => dibs.stats.get({ project: "*" }), { calmMs: 500 });
  if (stats.data === undefined) {
    if (isSignedOut(stats.error)) return <SignedOut refused={refused} />;
    return <LoadError live={stats} />;
  }
  // The stream ends with the sign-in.
  return <Signed isEmpty={stats.data.queue_size === 0} />;
}

function Signed({ isEmpty }: { isEmpty: boolean }) {
  const { state } = useStreamStatus();
  const { path, project } = usePlace();
  const [isHelping, setHelping] = useState(false);
  const inbox = useInboxContent(project, { calmMs: 500 });
  const role = ownRole();
  const badge = inbox.data ? badgeOf(inbox.data) : "0";
  useEffect(() => stream.start(), []);
  useEffect(() => {
    document.title = `${badge === "0" ? "" : `(${badge}) `}${titleOf(path)}`;
  }, [badge, path]);
  useKeys({
    ...Object.fromEntries(views.map(({ keys, path: to }) => [keys, () => navigate(hrefTo(to))])),
    "?": () => setHelping(true),
  });
  if (state === "signed-out") return <SignedOut refused={null} />;
  return (
    <>
      <a className="skip" href="#view">
        Skip to content
      </a>
      <header className="bar">
        <Link className="brand" href={hrefTo("/")}>
          <img src="/icon.svg" alt="" width="20" height="20" /> Dibs
        </Link>
        <nav className="nav" aria-label="Views">
          {views.map(({ path: to, name, keys }) => (
            <Link
              key={to}
              href={hrefTo(to)}
              aria-current={to === path ? "page" : undefined}
              title={`keys: ${keys}`}
            >
              {name}
              {name === "Inbox" && (
                <span
                  className="count"
                  title="questions, reviews, held landings and failures"
                  data-none={badge === "0" || undefined}
                >
                  {badge}
                </span>
              )}
            </Link>
          ))}
        </nav>
        <div className="end">
          <PausedMark />
          <ProjectChoice />
          <LiveMark />
          <button
            type="button"
            className="plain"
            aria-label="Light or dark"
            title="Light or dark"
            onClick={toggleTheme}
          >
            <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
              <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
              <path d="M8 1.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
            </svg>
          </button>
          <button
            type="button"
            className="plain"
            aria-label="Keys and help"
            title="Keys and help (?)"
            onClick={() => setHelping(true)}
          >
            ?
          </button>
          {role !== null && role !== "admin" && (
            <span className="badge" title={`You are signed in as ${role}.`}>
              {role}
            </span>
          )}
          {isSignedIn() && (
            <button
              type="button"
              className="plain"
              title={role === null ? undefined : `Signed in as ${role}`}
              onClick={() => void signOut()}
            >
              Sign out
            </button>
          )}
        </div>
      </header>
      <StaleBanner />
      <main className="view" id="view" tabIndex={-1}>
        <Boundary place={path}>
          <Suspense fallback={<Empty title="Loading…" />}>
            <View isEmpty={isEmpty} />
          </Suspense>
        </Boundary>
      </main>
      {isHelping && <Help onClose={() => setHelping(false)} />}
      <Toasts />
    </>
  );
}

const taskPath = /^\/tasks\/(?:([^/]+)\/)?([^/]+)$/;

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** For the tab: which task, or which view. */
function titleOf(path: string): string {
  const task = taskPath.exec(path)?.[2];
  const name = task === undefined ? views.find((view) => view.path === path)?.name : decoded(task);
  return name === undefined ? "Dibs" : `${name} · Dibs`;
}

function View({ isEmpty }: { isEmpty: boolean }): ReactNode {
  const { path } = usePlace();
  const task = taskPath.exec(path);
  if (task) {
    const [, project, id = ""] = task.map((part) => part && decoded(part));
    return <TaskPage key={path} project={project} id={id} />;
  }
  switch (path) {
    case "/":
      return isEmpty ? <Start /> : <Fleet />;
    case "/queue":
      return <Queue />;
    case "/inbox":
      return <Inbox />;
    case "/landing":
      return <Landing />;
    case "/graph":
      return <Graph />;
    case "/figures":
      return <Metrics />;
    default:
      return (
        <>
          <h1>Page not found</h1>
          <Empty title="The link is incomplete or from another version of Dibs.">
            <Link href={hrefTo("/")}>Go to the fleet</Link>
          </Empty>
        </>
      );
  }
}
