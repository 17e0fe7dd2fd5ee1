// Hosts of sessions, submissions and landers, as clients compare them.

export { isSameMachine } from "../core/session.js";

/** What a lander calls itself; `mark` tells two of one process apart. */
export const landerName = (host: string, pid: number, mark: string) =>
  `lander-${host.slice(0, 60)}-${pid}-${mark}`;

/** The process of a lander, by its name; null: it is another one's. */
export function landerPid(holder: string): number | null {
  const pid = /^lander-.*-(\d+)-[0-9a-f]{6}$/.exec(holder)?.[1];
  return pid === undefined ? null : Number(pid);
}
