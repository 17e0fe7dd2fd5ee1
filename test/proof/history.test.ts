// The checker rejects what no correct store does: histories that are wrong in one thing each.

import { describe, expect, test } from "vitest";
import { type Call, type History, impossible, type LogEvent } from "./history.js";

/** Two workers, a task each; the second task depends on the first. */
function good(): History {
  const claim = (sessionId: string, taskId: string, start: number): Call => ({
    process: sessionId,
    call: "tasks.claimNext",
    input: { sessionId },
    start,
    end: start + 5,
    answer: { claim: { taskId, epoch: 1, sessionId } },
  });
  const complete = (sessionId: string, taskId: string, start: number): Call => ({
    process: sessionId,
    call: "tasks.complete",
    input: { taskId, sessionId, epoch: 1, result: `by ${sessionId}` },
    start,
    end: start + 5,
    answer: { success: true },
  });
  const heartbeat: Call = {
    process: "a",
    call: "tasks.heartbeat",
    input: { taskId: "0001", sessionId: "a", epoch: 1 },
    start: 26,
    end: 29,
    answer: { success: true },
  };
  const batch: Call = {
    process: "a",
    call: "tasks.batch",
    input: {},
    start: 0,
    end: 10,
    answer: { tasks: [{ id: "0001" }, { id: "0002" }] },
    key: "k1",
  };
  const steps: [type: string, taskId: string, sessionId: string | null][] = [
    ["task:created", "0001", null],
    ["task:queued", "0001", null],
    ["task:created", "0002", null],
    ["task:queued", "0002", null],
    ["task:claimed", "0001", "a"],
    ["task:started", "0001", "a"],
    ["task:completed", "0001", "a"],
    ["task:unblocked", "0002", null],
    ["task:claimed", "0002", "b"],
    ["task:started", "0002", "b"],
    ["task:completed", "0002", "b"],
  ];
  const log = steps.map(([type, taskId, sessionId], at): LogEvent => {
    return { seq: at + 1, type, taskId, sessionId, epoch: sessionId === null ? null : 1, data: {} };
  });
  return {
    calls: [
      batch,
      claim("a", "0001", 20),
      heartbeat,
      complete("a", "0001", 30),
      claim("b", "0002", 40),
      complete("b", "0002", 50),
    ],
    log,
    streams: [
      { reader: "r", after: 0, events: log.slice(0, 6) },
      { reader: "r", after: 6, events: log.slice(6) },
    ],
    tasks: [
      { id: "0001", state: "completed", dependsOn: [], result: { output: "by a" } },
      { id: "0002", state: "completed", dependsOn: ["0001"], result: { output: "by b" } },
    ],
  };
}

const renumbered = (log: LogEvent[]) => log.map((event, at) => ({ ...event, seq: at + 1 }));

/** Without streams, which would show most of it as well. */
function withLog(history: History, log: LogEvent[]): void {
  history.log = renumbered(log);
  history.streams = [];
}

function find(history: History, call: string, by: string): Call {
  return history.calls.find((each) => each.call === call && each.process === by)!;
}

const bad: [what: string, spoil: (history: History) => void, said: RegExp][] = [
  [
    "two sessions hold a task at once",
    (history) => {
      const { log } = history;
      withLog(history, [
        ...log.slice(0, 6),
        { ...log[4]!, sessionId: "b", epoch: 2 },
        { ...log[6]!, epoch: 2, sessionId: "b" },
        ...log.slice(7),
      ]);
    },
    /two holders/,
  ],
  [
    "an epoch is given to two sessions",
    (history) => {
      const { claim } = find(history, "tasks.claimNext", "b").answer;
      claim.taskId = "0001";
    },
    /epoch 1 of 0001 was given to a and to b/,
  ],
  [
    "an epoch goes back",
    (history) => {
      const { log } = history;
      const again = (event: LogEvent, type: string) => ({ ...event, type, epoch: 1, sessionId: "a" });
      const raised = log.map((event) =>
        event.taskId === "0001" && event.epoch ? { ...event, epoch: 3 } : event,
      );
      withLog(history, [
        ...raised.slice(0, 6),
        again(log[4]!, "task:released"),
        again(log[4]!, "task:claimed"),
        ...raised.slice(6),
      ]);
    },
    /claimed with epoch 1 after epoch 3/,
  ],
  [
    "more units of a resource are granted than there are",
    (history) => {
      const { log, tasks } = history;
      for (const task of tasks) Object.assign(task, { uses: { db: 1 }, dependsOn: [] });
      withLog(history, [...log.slice(0, 5), ...log.slice(7, 9), ...log.slice(5, 7), ...log.slice(9)]);
      history.resources = [{ id: "db", capacity: 1, inUse: 0 }];
    },
    /2 of 1 units of db were in use at event 7/,
  ],
  [
    "units do not come back",
    (history) => {
      for (const task of history.tasks) task.uses = { db: 1 };
      history.resources = [{ id: "db", capacity: 1, inUse: 1 }];
    },
    /1 units of db are in use at the end, and claims hold 0/,
  ],
  [
    "a task is completed twice",
    (history) => withLog(history, [...history.log, { ...history.log[6]! }]),
    /0001 was completed twice/,
  ],
  [
    "a completed task is claimed again",
    (history) => withLog(history, [...history.log, { ...history.log[4]!, epoch: 2, sessionId: "stranger" }]),
    /claimed after it was completed/,
  ],
  [
    "an acknowledged completion is not in the log",
    (history) =>
      withLog(
        history,
        history.log.filter((event) => event.seq !== 11),
      ),
    /tasks.complete of b \(epoch 1\) on 0002 was accepted, and is lost/,
  ],
  [
    "an acknowledged completion is undone at the end",
    (history) => {
      history.tasks[1]!.state = "queued";
    },
    /0002 was completed, and is queued at the end/,
  ],
  [
    "a result is another's",
    (history) => {
      history.tasks[1]!.result = { output: "by a" };
    },
    /completed with by b, and has by a/,
  ],
  [
    "an acknowledged task is gone",
    (history) => {
      history.tasks.shift();
    },
    /0001 was created, and is not there/,
  ],
  [
    "an id is given twice",
    (history) => withLog(history, [...history.log, { ...history.log[0]! }]),
    /the id 0001 was given 2 times/,
  ],
  [
    "an acknowledged claim is not in the log",
    (history) =>
      withLog(
        history,
        history.log.filter(({ seq }) => seq < 9),
      ),
    /epoch 1 of 0002 was given to b, and the log has no such claim/,
  ],
  [
    "a session holds what it was never given",
    (history) => {
      history.calls = history.calls.filter((call) => call.call !== "tasks.claimNext" || call.process !== "b");
    },
    /b holds epoch 1 of 0002, which it was never given/,
  ],
  [
    "a session holds what was claimed before it asked",
    (history) => {
      const { answer: _, end: __, ...call } = find(history, "tasks.claimNext", "b");
      history.calls = history.calls.filter((each) => each.call !== "tasks.claimNext" || each.process !== "b");
      history.calls.push({ ...call, start: 60 });
      history.log[8]!.committedAt = 45;
    },
    /b holds epoch 1 of 0002, which it was never given/,
  ],
  [
    "a heartbeat is accepted after a successor was given the task",
    (history) => {
      const { log, calls } = history;
      const release = { ...log[6]!, type: "task:claim-expired" };
      const next = [log[4]!, log[5]!, log[6]!].map((event) => ({ ...event, epoch: 2, sessionId: "b" }));
      withLog(history, [...log.slice(0, 6), release, ...next, ...log.slice(7)]);
      const done = find(history, "tasks.complete", "a");
      Object.assign(done, { process: "b", input: { ...done.input, sessionId: "b", epoch: 2 } });
      const answer = { claim: { taskId: "0001", epoch: 2, sessionId: "b" } };
      calls.push({ ...find(history, "tasks.claimNext", "b"), start: 12, end: 13, answer });
      Object.assign(find(history, "tasks.claimNext", "a"), { start: 10.5, end: 11 });
      find(history, "tasks.complete", "b").input.result = "by a";
    },
    /tasks.heartbeat of a \(epoch 1\) on 0001 was accepted after epoch 2 was given/,
  ],
  [
    "a completion that was refused has happened",
    (history) => {
      const call = find(history, "tasks.complete", "b");
      delete call.answer;
      call.refusal = "CLAIM_EXPIRED";
    },
    /tasks.complete of b \(epoch 1\) on 0002 was refused, and happened/,
  ],
  [
    "a completion without a claim is accepted",
    (history) => {
      find(history, "tasks.complete", "b").input.epoch = 7;
    },
    /tasks.complete of b \(epoch 7\) on 0002 was accepted without a claim/,
  ],
  [
    "a task is claimed before its dependency is completed",
    (history) => {
      history.tasks[0]!.dependsOn = ["0002"];
    },
    /0001 was claimed at event 5, before 0002 was completed/,
  ],
  [
    "a number is missing in the log",
    (history) => {
      history.log.splice(3, 1);
    },
    /the log has event 5 where 4 was expected/,
  ],
  [
    "a number is in the log twice",
    (history) => {
      history.log.splice(3, 0, history.log[2]!);
    },
    /the log has event 3 where 4 was expected/,
  ],
  [
    "events are in another order than their commits",
    (history) => {
      const { log } = history;
      const [first, second] = [log.slice(4, 7), log.slice(8, 11)];
      history.tasks[1]!.dependsOn = [];
      withLog(history, [...log.slice(0, 4), ...second, log[7]!, ...first]);
    },
    /was acknowledged before/,
  ],
  [
    "a key acts twice",
    (history) => {
      const again = { ...history.calls[0]!, answer: { tasks: [{ id: "0001" }, { id: "0003" }] } };
      history.calls.push(again);
    },
    /the key k1 has acted twice/,
  ],
  [
    "a stream has a gap",
    (history) => {
      history.streams[1]!.events = history.streams[1]!.events.slice(1);
    },
    /reader r got event 8 {2}after 6/,
  ],
  [
    "a resumed stream repeats an event",
    (history) => {
      history.streams[1]!.events = [history.log[5]!, ...history.streams[1]!.events];
    },
    /reader r got event 6 again after 6/,
  ],
  [
    "a stream shows an event that was never committed",
    (history) => {
      history.streams[1]!.events = [
        { ...history.log[6]!, type: "task:failed" },
        ...history.streams[1]!.events.slice(1),
      ];
    },
    /got event 7 as task:failed of 0001/,
  ],
];

describe("a history is rejected in which", () => {
  test.each(bad)("%s", (_, spoil, said) => {
    const history = good();
    spoil(history);
    expect(impossible(history)).toContainEqual(expect.stringMatching(said));
  });
});

describe("a history is accepted in which", () => {
  const fine: [what: string, change: (history: History) => void][] = [
    ["all is well", () => undefined],
    [
      "an answer was lost, and what it was for has happened",
      (history) => {
        const call = find(history, "tasks.complete", "b");
        delete call.answer;
        delete call.end;
      },
    ],
    [
      "an answer was lost, and what it was for has not happened",
      (history) => {
        const call = find(history, "tasks.complete", "b");
        delete call.answer;
        delete call.end;
        history.log = history.log.slice(0, 10);
        history.streams[1]!.events = history.streams[1]!.events.slice(0, 4);
        Object.assign(history.tasks[1]!, { state: "running", result: null });
      },
    ],
    [
      "a completion whose answer was lost is repeated",
      (history) => {
        const call = find(history, "tasks.complete", "b");
        const { answer: _, end: __, ...first } = call;
        history.calls.push({ ...first, start: call.start - 3 });
      },
    ],
    [
      "what came too late is refused",
      (history) => {
        const { answer: _, ...call } = find(history, "tasks.complete", "a");
        history.calls.push({
          ...call,
          process: "c",
          input: { ...call.input, sessionId: "c" },
          refusal: "NOT_CLAIM_OWNER",
        });
      },
    ],
    [
      "a claim is renewed",
      (history) => {
        const call = find(history, "tasks.claimNext", "a");
        history.calls.push({ ...call, call: "tasks.claim", start: 26, end: 27 });
      },
    ],
    [
      "a claim whose answer was lost is renewed by the id of the task, after other tasks were completed",
      (history) => {
        const { log, tasks, calls } = history;
        tasks[1]!.dependsOn = [];
        withLog(history, [...log.slice(0, 6), ...log.slice(7), log[6]!]);
        const { answer, end: _, ...first } = find(history, "tasks.claimNext", "a");
        calls.splice(calls.indexOf(find(history, "tasks.claimNext", "a")), 1, first);
        calls.push({ ...first, call: "tasks.claim", start: 56, end: 57, answer });
        Object.assign(find(history, "tasks.complete", "a"), { start: 60, end: 65 });
      },
    ],
    [
      "a leader releases a claim, and its holder is answered as if it had done so",
      (history) => {
        const { log } = history;
        const second = [log[4]!, log[5]!, log[6]!].map((event) => ({ ...event, epoch: 2 }));
        withLog(history, [
          ...log.slice(0, 6),
          { ...log[6]!, type: "task:released" },
          ...second,
          ...log.slice(7),
        ]);
        const claim = find(history, "tasks.claimNext", "a");
        const answer = { claim: { taskId: "0001", epoch: 2, sessionId: "a" } };
        const release = { ...claim, call: "tasks.release", answer: { success: true } };
        const by = { taskId: "0001", sessionId: "a", epoch: 1 };
        history.calls.push(
          { ...release, process: "leader", input: { taskId: "0001", force: true }, start: 30, end: 31 },
          { ...claim, start: 32, end: 33, answer },
          { ...release, input: by, start: 34, end: 35 },
        );
        const done = find(history, "tasks.complete", "a");
        Object.assign(done, { start: 36, end: 38, input: { ...done.input, epoch: 2 } });
      },
    ],
    [
      "a question whose answer was lost is asked again with its key, after a successor was given the task",
      (history) => {
        const { log } = history;
        const asked = { ...log[5]!, type: "task:awaiting-response" };
        const expired = { ...log[6]!, type: "task:claim-expired" };
        const next = [log[4]!, log[5]!, log[6]!].map((event) => ({ ...event, epoch: 2 }));
        withLog(history, [...log.slice(0, 6), asked, expired, ...next, ...log.slice(7)]);
        const ask = { ...find(history, "tasks.heartbeat", "a"), call: "tasks.ask", key: "k2" };
        const { answer: _, end: __, ...lost } = ask;
        const answer = { claim: { taskId: "0001", epoch: 2, sessionId: "a" } };
        history.calls.push(lost, { ...ask, start: 34, end: 35 });
        history.calls.push({ ...find(history, "tasks.claimNext", "a"), start: 30, end: 33, answer });
        const done = find(history, "tasks.complete", "a");
        Object.assign(done, { start: 36, end: 38, input: { ...done.input, epoch: 2 } });
      },
    ],
    [
      "work lands after later work was completed",
      (history) => {
        const { log, tasks } = history;
        tasks[1]!.dependsOn = [];
        const [submitted, landed] = ["task:submitted", "task:landed"].map((type) => ({ ...log[6]!, type }));
        withLog(history, [...log.slice(0, 6), submitted!, ...log.slice(8), landed!, log[6]!]);
      },
    ],
  ];
  test.each(fine)("%s", (_, change) => {
    const history = good();
    change(history);
    expect(impossible(history)).toEqual([]);
  });
});
