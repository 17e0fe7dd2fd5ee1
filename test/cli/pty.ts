// A person who types commands at a terminal, in a repository of their own.

import { Terminal, type TerminalOptions } from "../terminal.js";
import { bin, type Place } from "./run-place.js";

export { keys } from "../terminal.js";

type Sitting = Partial<Omit<TerminalOptions, "cwd">>;

export const sitAt = (place: Place, command: string[], { env, ...size }: Sitting = {}) =>
  new Terminal(command, { cwd: place.cwd, env: { ...place.env, TERM: "xterm-256color", ...env }, ...size });

/** The program, called at the terminal. */
export const type = (place: Place, args: string[], sitting?: Sitting) =>
  sitAt(place, [process.execPath, bin, ...args], sitting);

/** A line of a shell, which survives what is done to the program. */
export const typeLine = (place: Place, line: string, sitting?: Sitting) =>
  sitAt(place, ["sh", "-c", `trap : INT; ${line}`], sitting);
