// Answering a question in place: options to pick from, free text, and the same as a command. What is typed is kept by the question
// and outlives every change of the list around it. When somebody else was faster, it says so and shows the answer that was given.

import "./answer.css";
import { type KeyboardEvent, type Ref, useEffect, useImperativeHandle, useRef, useState } from "react";
import { registry } from "../../../src/client/connect.js";
import { cliFor } from "../../../src/client/view/commands.js";
import { type DibsEvent, dibs, type Task, troubleOf } from "../data/dibs.js";
import { whyNot } from "../data/me.js";
import { useProjectToName } from "../data/projects.js";
import { stream } from "../data/stream.js";
import { CopyText } from "./parts.js";

export type Question = NonNullable<Task["question"]>;

export interface Asked {
  project: string;
  taskId: string;
  question: Question;
}

/** For the keyboard of the view around it: `pick` counts from 0. */
export interface AnswerHandle {
  pick(option: number): void;
  /** Sends what was picked or typed; with nothing yet, asks for it. */
  answer(): void;
  focus(): void;
}

/** How a question ended, whoever ended it. */
interface Ending {
  /** Null: nobody answered it. */
  response: string | null;
  by: string;
  note: string;
}

const drafts = new Map<string, string>();
const responseLengthMax = 64 * 1024;

const draftKey = ({ project, question }: Asked) => `${project} ${question.id}`;

function useDraft(asked: Asked): [string, (text: string) => void] {
  const key = draftKey(asked);
  const [draft, setDraft] = useState(() => drafts.get(key) ?? "");
  const keep = (text: string) => {
    if (text === "") drafts.delete(key);
    else drafts.set(key, text);
    setDraft(text);
  };
  return [draft, keep];
}

/** Hears how the question ends. */
function useEnding({ project, taskId, question }: Asked) {
  const [ending, setEnding] = useState<Ending | null>(null);
  useEffect(
    () =>
      stream.onEvent((event) => {
        if (event.project !== project || event.taskId !== taskId) return;
        const heard = endingOf(event, question.id);
        if (heard) setEnding((known) => known ?? heard);
      }),
    [project, taskId, question.id],
  );
  return [ending, setEnding] as const;
}

function endingOf({ type, actor, data }: DibsEvent, questionId: string): Ending | null {
  if (type === "task:response-received" && data.questionId === questionId)
    return { response: String(data.response), by: actor, note: "Answered" };
  if (type === "task:cancelled" || type === "task:failed" || type === "task:retry-scheduled")
    return { response: null, by: actor, note: `The question is no longer open: ${type.slice(5)}` };
  return null;
}

/** The answer that was given, after ours was refused. */
async function answerGiven({ project, taskId, question }: Asked): Promise<Ending | null> {
  const types: DibsEvent["type"][] = ["task:response-received"];
  const { events } = await dibs.events.list({ project, taskId, types, limit: 1000 });
  return events.map((event) => endingOf(event, question.id)).find(Boolean) ?? null;
}

interface AnswerProps extends Asked {
  ref?: Ref<AnswerHandle>;
  /** Somebody else ended it while something was typed here. */
  onMissed?: () => void;
}

export function Answer({ ref, onMissed, ...asked }: AnswerProps) {
  const { project, taskId, question } = asked;
  const [draft, setDraft] = useDraft(asked);
  const [ending, setEnding] = useEnding(asked);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const text = draft.trim() === "" ? (question.default ?? "") : draft;
  const isOver = ending !== null;
  const notAllowed = whyNot(registry.tasks.respond.role);
  const isMissed = isOver && draft !== "";
  useEffect(() => {
    if (isOver) drafts.delete(draftKey(asked));
    if (isMissed) onMissed?.();
  });

  const send = async () => {
    if (isBusy || isOver || notAllowed) return;
    if (text === "") return field.current?.focus();
    setBusy(true);
    setTrouble(null);
    try {
      await dibs.tasks.respond({ project, taskId, response: text, questionId: question.id });
      setDraft("");
      setEnding({ response: text, by: "you", note: "Answered" });
      leaveForm(form.current);
    } catch (error) {
      const { message, code } = troubleOf(error);
      setTrouble(`Your answer was rejected: ${message}`);
      const given = code === "TASK_NOT_AWAITING" || code === "QUESTION_MISMATCH";
      if (given) setEnding(await answerGiven(asked).catch(() => null));
    }
    setBusy(false);
  };

  const options = optionsOf(question);
  useImperativeHandle(ref, () => ({
    pick: (at) => !isOver && !notAllowed && options[at] !== undefined && setDraft(options[at]),
    answer: () => void send(),
    focus: () => field.current?.focus(),
  }));

  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    }
  };

  return (
    <form
      ref={form}
      className="answer stack"
      data-over={isOver || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Options question={question} picked={text} isOver={isOver || notAllowed !== null} onPick={setDraft} />
      <div className="answer-line">
        <textarea
          ref={field}
          rows={1}
          aria-label={`Answer to ${taskId}`}
          placeholder={question.default ? `Your answer; empty means “${question.default}”` : "Your answer"}
          maxLength={responseLengthMax}
          value={draft}
          readOnly={isOver}
          disabled={notAllowed !== null}
          title={notAllowed ?? undefined}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={press}
        />
        <button
          type="submit"
          className="primary"
          disabled={isBusy || isOver || notAllowed !== null || text === ""}
          title={notAllowed ?? undefined}
        >
          Answer
        </button>
      </div>
      <Foot asked={asked} text={text} ending={ending} trouble={trouble ?? notAllowed} />
    </form>
  );
}

/** Nothing more can be typed there: the keys are the view's again. */
function leaveForm(form: HTMLFormElement | null): void {
  const { activeElement } = document;
  if (!form?.contains(activeElement) || !(activeElement instanceof HTMLElement)) return;
  const item = form.closest<HTMLElement>("[tabindex='-1']");
  if (item) item.focus();
  else activeElement.blur();
}

/** The default may be a word of its own. */
function optionsOf(question: Question): string[] {
  const options = question.options ?? [];
  const own = question.default;
  return own === undefined || options.includes(own) ? options : [...options, own];
}

interface OptionsProps {
  question: Question;
  picked: string;
  isOver: boolean;
  onPick: (option: string) => void;
}

function Options({ question, picked, isOver, onPick }: OptionsProps) {
  const options = optionsOf(question);
  if (options.length === 0) return null;
  return (
    <fieldset className="answer-options" aria-label="Options">
      {options.map((option, at) => (
        <button
          key={option}
          type="button"
          className="answer-option"
          aria-pressed={picked === option}
          disabled={isOver}
          onClick={() => onPick(option)}
        >
          {at < 9 && <kbd>{at + 1}</kbd>}
          <span className="wraps">{option}</span>
          {option === question.default && <span className="answer-default">default</span>}
        </button>
      ))}
    </fieldset>
  );
}

interface FootProps {
  asked: Asked;
  text: string;
  ending: Ending | null;
  trouble: string | null;
}

/** One line, whatever happens: nothing below it moves. */
function Foot({ asked: { project, taskId, question }, text, ending, trouble }: FootProps) {
  const named = useProjectToName(project);
  const command = cliFor("answer", {
    taskId,
    project: named,
    questionId: question.id,
    text: text || undefined,
  });
  return (
    <div className="answer-foot" role="status">
      {trouble && <p className="bad wraps">{trouble}</p>}
      {ending ? (
        <p className="wraps">
          <span className="strong">{ending.note}</span>
          {ending.response !== null && (
            <>
              : “<bdi>{ending.response}</bdi>”
            </>
          )}{" "}
          <span className="quiet">({ending.by})</span>
        </p>
      ) : (
        <CopyText text={command} label="the answer as a command" />
      )}
    </div>
  );
}
