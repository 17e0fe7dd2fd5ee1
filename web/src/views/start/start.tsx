// An empty store: from nothing to the first task, and to the first agent, in a minute.

import "./start.css";
import { type FormEvent, useState } from "react";
import { registry } from "../../../../src/client/connect.js";
import { CopyText } from "../../components/parts.js";
import { sayTrouble } from "../../components/toasts.js";
import { dibs } from "../../data/dibs.js";
import { whyNot } from "../../data/me.js";
import { navigate, taskHref } from "../../router.js";

const plan = `- [ ] Parse the config file
- [ ] Write the loader
  - [ ] Read from disk
  - [ ] Read from the network
- [ ] Document it`;

export function Start() {
  return (
    <div className="start stack">
      <h1>No tasks yet</h1>
      <p className="quiet">Dibs assigns each task to exactly one agent, and loses none. Three steps:</p>
      <FirstTask />
      <section className="panel stack" aria-labelledby="start-agents">
        <h2 id="start-agents">2. Start an agent</h2>
        <p>Run this in the project's directory. Any command works in place of an agent.</p>
        <CopyText text="dibs work --agent claude" label="the command" />
        <CopyText text={"dibs work -- sh -c 'cat; echo done'"} label="the command for any program" />
        <p className="quiet">
          For MCP clients, run <code>dibs init --agent claude</code> (or codex, gemini, cursor).
        </p>
      </section>
      <section className="panel stack" aria-labelledby="start-plan">
        <h2 id="start-plan">3. Load a whole plan</h2>
        <p>A checklist, JSON or text. Indented items are subtasks.</p>
        <pre className="start-plan">{plan}</pre>
        <CopyText text="dibs plan plan.md" label="the command for a plan" />
      </section>
    </div>
  );
}

function FirstTask() {
  const [prompt, setPrompt] = useState("");
  const [isBusy, setBusy] = useState(false);
  const notAllowed = whyNot(registry.tasks.create.role);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { task } = await dibs.tasks.create({ prompt });
      navigate(taskHref(task.project, task.id));
    } catch (error) {
      sayTrouble(error);
      setBusy(false);
    }
  };
  return (
    <section className="panel" aria-labelledby="start-task">
      <form className="stack" onSubmit={add}>
        <h2 id="start-task">1. Add a task</h2>
        <label className="field">
          What should an agent do?
          <textarea
            value={prompt}
            onChange={(event) => setPrompt(event.target.value)}
            placeholder="Write a parser for our config format, with tests."
            rows={3}
          />
        </label>
        <div className="row wrapping">
          <button
            type="submit"
            className="primary"
            disabled={isBusy || notAllowed !== null || prompt.trim() === ""}
            title={notAllowed ?? undefined}
          >
            Add the first task
          </button>
          <span className="quiet">
            or type <code>dibs add "…"</code>
          </span>
        </div>
      </form>
    </section>
  );
}
