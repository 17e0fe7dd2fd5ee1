// A task's page: how it stands, what it asks, why it does not run, what it was told and what came of it, and its whole story.

import "./task.css";
import { type Ref, useRef, useState } from "react";
import { Answer, type AnswerHandle, type Question } from "../../components/answer.js";
import { LoadError } from "../../components/load-error.js";
import { Empty } from "../../components/parts.js";
import { When } from "../../components/when.js";
import { DibsError, type Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { useKeys } from "../../keys.js";
import { goBack, hrefTo, Link } from "../../router.js";
import { isSubmitted, SubmissionPanel } from "../submission/panel.js";
import { Cancel, CopyCalls, Release, Retry } from "./actions.js";
import { Edit } from "./edit.js";
import { Explain } from "./explain.js";
import { Facts } from "./facts.js";
import { type Doing, doingsOf, Header, whyNotDo } from "./header.js";
import { Holder } from "./holder.js";
import { Relations, StillLooking } from "./relations.js";
import { Folded, Part, ResultTexts } from "./texts.js";
import { Timeline } from "./timeline.js";
import { type Seen, useTask } from "./use-task.js";

export function TaskPage({ project, id }: { project: string | undefined; id: string }) {
  const live = useTask(project, id);
  if (live.data === undefined) {
    return isUnknown(live.error) ? <Unknown project={project} id={id} /> : <LoadError live={live} />;
  }
  return (
    <>
      {live.error !== undefined && <LoadError live={live} />}
      <Known {...live.data} onChange={live.reload} />
    </>
  );
}

const unknownCodes = ["TASK_NOT_FOUND", "PROJECT_NOT_FOUND", "VALIDATION_FAILED"];
const isUnknown = (error: unknown) => error instanceof DibsError && unknownCodes.includes(error.code);

function Unknown({ project, id }: { project: string | undefined; id: string }) {
  return (
    <Empty title={`Task ${id} not found${project === undefined ? "" : ` in project ${project}`}.`}>
      <p>It is archived, or belongs to another project.</p>
      <p>
        <Link href={hrefTo("/queue", { q: `id:${JSON.stringify(id)}`, project: "*" })}>
          Look for it in the queue
        </Link>
      </p>
    </Empty>
  );
}

function Known({ task, explanation, onChange }: Seen & { onChange: () => void }) {
  const [doing, setDoing] = useState<Doing | null>(null);
  const [missed, setMissed] = useState<Question | null>(null);
  const answer = useRef<AnswerHandle>(null);
  const possible = doingsOf(task).filter(([each]) => whyNotDo(each) === null);
  const asks = Object.fromEntries(possible.map(([each, , key]) => [key, () => setDoing(each)]));
  const picks = Array.from({ length: 9 }, (_, at) => [`${at + 1}`, () => answer.current?.pick(at)] as const);
  useKeys({
    ...asks,
    ...Object.fromEntries(picks),
    Escape: () => goBack(hrefTo("/queue")),
    // On a submission the key means another thing.
    ...((task.question ?? missed) ? { a: () => answer.current?.focus() } : {}),
    ...(task.question ? { Enter: () => answer.current?.answer() } : {}),
  });
  const { error, result, prompt, description, project, id } = task;
  // What somebody typed stays when another one answers first.
  const question = task.question ?? missed;
  return (
    <article className="task">
      <Header task={task} onDo={setDoing} />
      <div className="task-top">
        {question && (
          <OpenQuestion
            key={question.id}
            task={task}
            question={question}
            answer={answer}
            onMissed={() => setMissed(question)}
            onClose={task.question ? null : () => setMissed(null)}
          />
        )}
        <Holder task={task} />
        <Explain task={task} explanation={explanation} />
        {isSubmitted(task) && <SubmissionPanel task={task} />}
        {error !== null && !task.claim && (
          <Part title={task.state === "failed" ? "Error" : "Error of the last attempt"} id="task-error">
            <Folded text={error} name="the error" isCode />
          </Part>
        )}
        {result && (
          <Part title="Result" id="task-result">
            <ResultTexts result={result} />
          </Part>
        )}
        <Part title="Prompt" id="task-prompt">
          <Folded text={prompt} name="the prompt" />
        </Part>
        {description !== null && description !== prompt && (
          <Part title="Description" id="task-description">
            <Folded text={description} name="the description" />
          </Part>
        )}
      </div>
      <div className="task-side">
        <Relations task={task} />
        <Facts task={task} />
        <StillLooking />
      </div>
      <Timeline project={project} taskId={id} claim={task.claim} />
      <Dialogs
        task={task}
        doing={doing}
        onClose={() => {
          setDoing(null);
          onChange();
        }}
      />
    </article>
  );
}

interface OpenQuestionProps {
  task: Task;
  question: Question;
  answer: Ref<AnswerHandle>;
  onMissed: () => void;
  /** Null while it is open. */
  onClose: (() => void) | null;
}

function OpenQuestion({ task, question, answer, onMissed, onClose }: OpenQuestionProps) {
  const now = useNow(5_000);
  const { project, id, claim } = task;
  return (
    <section className="panel task-part task-question" aria-labelledby="task-question">
      <h2 id="task-question">
        Question{" "}
        <span className="quiet small">
          asked <When at={question.askedAt} now={now} />
          {claim && ` by ${claim.sessionId}`}
          {!claim && !onClose && "; the agent that asked is gone, so the next claim gets the answer"}
        </span>
      </h2>
      <p className="wraps">{question.text}</p>
      <Answer ref={answer} project={project} taskId={id} question={question} onMissed={onMissed} />
      {onClose && (
        <div className="row">
          <button type="button" className="small" onClick={onClose}>
            Close
          </button>
        </div>
      )}
    </section>
  );
}

interface DialogsProps {
  task: Task;
  doing: Doing | null;
  onClose: () => void;
}

function Dialogs({ task, doing, onClose }: DialogsProps) {
  switch (doing) {
    case "edit":
      return <Edit task={task} onClose={onClose} />;
    case "cancel":
      return <Cancel task={task} onClose={onClose} />;
    case "retry":
      return <Retry task={task} onClose={onClose} />;
    case "release":
      return <Release task={task} onClose={onClose} />;
    case "copy":
      return <CopyCalls task={task} onClose={onClose} />;
    case null:
      return null;
  }
}
