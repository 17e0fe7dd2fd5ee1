// Open questions with what one needs to know to answer them, and the answer in place.

import { useRef } from "react";
import type { AskingTask } from "../../../../src/client/view/inbox.js";
import { percent } from "../../../../src/client/view/words.js";
import { Answer, type AnswerHandle } from "../../components/answer.js";
import { useStableList } from "../../components/stable-list.js";
import { When } from "../../components/when.js";
import { Link, taskHref } from "../../router.js";
import { Folded } from "../task/texts.js";
import { useItemKeys } from "./item-keys.js";
import { More } from "./more.js";
import { PartHead } from "./part-head.js";

interface QuestionsProps {
  questions: AskingTask[];
  hasMore: boolean;
  /** Null: no more can be read at once. */
  onMore: (() => void) | null;
  isAllProjects: boolean;
  now: number;
}

const keyOf = ({ project, question }: AskingTask) => `${project} ${question.id}`;

export function Questions({ questions, hasMore, onMore, isAllProjects, now }: QuestionsProps) {
  const stable = useStableList(questions, keyOf, "after");
  return (
    <section className="inbox-part" aria-labelledby="inbox-questions">
      <PartHead
        id="inbox-questions"
        title="Questions"
        count={questions.length}
        hasMore={hasMore}
        stable={stable}
      />
      {stable.shown.length === 0 && (
        <p className="quiet">{stable.waiting > 0 ? "A new question has arrived." : "No open questions."}</p>
      )}
      <ol className="inbox-list" {...stable.list}>
        {stable.shown.map((task) => (
          <QuestionItem key={keyOf(task)} task={task} isAllProjects={isAllProjects} now={now} />
        ))}
      </ol>
      {hasMore && <More what="questions" onMore={onMore} />}
    </section>
  );
}

interface ItemProps {
  task: AskingTask;
  isAllProjects: boolean;
  now: number;
}

function QuestionItem({ task, isAllProjects, now }: ItemProps) {
  const { project, id, title, question, claim, prompt } = task;
  const own = useRef<HTMLLIElement>(null);
  const answer = useRef<AnswerHandle>(null);
  const picks = Array.from(
    { length: 9 },
    (_, at) => [String(at + 1), () => answer.current?.pick(at)] as const,
  );
  useItemKeys(own, {
    Enter: () => answer.current?.answer(),
    a: () => answer.current?.focus(),
    ...Object.fromEntries(picks),
  });
  return (
    <li ref={own} className="panel inbox-item inbox-question" tabIndex={-1}>
      <p className="row inbox-about">
        <Link className="cut" href={taskHref(project, id)}>
          <span className="mono">{isAllProjects ? `${project}/${id}` : id}</span> {title}
        </Link>
        <span className="quiet small cut inbox-when">
          <span className="mono">{claim?.sessionId ?? "nobody"}</span>
          {claim?.agentType && (
            <>
              {" "}
              (<bdi>{claim.agentType}</bdi>)
            </>
          )}{" "}
          asks, <When at={question.askedAt} now={now} />
        </span>
      </p>
      <Folded text={question.text} name="the question" />
      <Context task={task} now={now} />
      <Answer ref={answer} project={project} taskId={id} question={question} />
      <details className="small">
        <summary className="quiet">Prompt</summary>
        <Folded text={prompt} name="the prompt" />
      </details>
    </li>
  );
}

function Context({ task: { claim }, now }: { task: AskingTask; now: number }) {
  if (!claim) {
    return (
      <p className="quiet small">The agent that asked is gone. The next claim of the task gets the answer.</p>
    );
  }
  const { progress } = claim;
  if (!progress) return null;
  return (
    <p className="quiet small wraps">
      So far{progress.percent === null ? "" : ` ${percent(progress.percent)}`}
      {progress.note && (
        <>
          : <bdi>{progress.note}</bdi>
        </>
      )}{" "}
      (<When at={progress.at} now={now} />)
    </p>
  );
}
