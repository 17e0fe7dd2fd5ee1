import { type StateFacts, standing, stateWord } from "../../../src/client/view/words.js";
import { Badge } from "./parts.js";
import { toneOf } from "./tones.js";

/** Its state, and for what is queued why it is not taken. */
export function TaskState({ task, now }: { task: StateFacts; now: number }) {
  return <Badge tone={toneOf(standing(task, now))}>{stateWord(task, now)}</Badge>;
}
