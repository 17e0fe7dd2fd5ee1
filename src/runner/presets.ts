// How well-known agents are run without a terminal. A preset is a convenience: any command works, and flags change with versions.
// The brief goes on standard input where a program reads it there: other users can see arguments.

import { DibsError } from "../contract/error.js";

export interface Preset {
  command: readonly string[];
  stdin: "brief" | "empty";
  /** Added when nobody is there to approve what the agent does. */
  unattended: readonly string[];
  /** Likewise, in its environment. */
  unattendedEnv?: Readonly<Record<string, string>>;
}

const presets = {
  claude: {
    command: ["claude", "--print"],
    stdin: "brief",
    unattended: ["--permission-mode", "acceptEdits"],
  },
  codex: {
    command: ["codex", "exec", "-"],
    stdin: "brief",
    unattended: ["--sandbox", "workspace-write"],
  },
  // Without a terminal it refuses to begin in a directory that nobody has called trusted, such as a new worktree.
  gemini: {
    command: ["gemini"],
    stdin: "brief",
    unattended: ["--approval-mode", "auto_edit"],
    unattendedEnv: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
  },
  qwen: { command: ["qwen"], stdin: "brief", unattended: ["--approval-mode", "auto-edit"] },
  opencode: { command: ["opencode", "run"], stdin: "brief", unattended: [] },
  // Whoever says yes to everything also says yes to an update in the middle of the work, and to being watched.
  aider: {
    command: ["aider", "--message-file", "{briefFile}", "--no-pretty", "--no-stream"],
    stdin: "empty",
    unattended: ["--yes-always", "--no-check-update", "--no-analytics"],
  },
  goose: {
    command: ["goose", "run", "--no-session", "--instructions", "-"],
    stdin: "brief",
    unattended: [],
  },
  // In a directory that nobody has called trusted it does nothing and exits with 0.
  "cursor-agent": {
    command: ["cursor-agent", "--print", "--trust"],
    stdin: "brief",
    unattended: ["--force"],
  },
  amp: { command: ["amp", "--execute"], stdin: "brief", unattended: [] },
} as const satisfies Record<string, Preset>;

export type AgentName = keyof typeof presets;

export const agentNames = Object.keys(presets) as AgentName[];

interface PresetOptions {
  unattended?: boolean;
  /** The caller's own arguments. */
  extra?: readonly string[];
  /** The prompt instead of the brief. */
  barePrompt?: boolean;
}

interface PresetCommand {
  command: string[];
  stdin: "brief" | "prompt" | "empty";
  env: Readonly<Record<string, string>>;
}

/** The command for an agent, with the caller's own arguments behind it. */
export function presetFor(name: string, options: PresetOptions = {}): PresetCommand {
  if (!Object.hasOwn(presets, name)) {
    throw new DibsError("VALIDATION_FAILED", `There is no preset for agent '${name.slice(0, 100)}'.`, {
      hint: `Supported: ${agentNames.join(", ")}. For any other agent pass its command after --.`,
    });
  }
  const { unattended = true, extra = [], barePrompt = false } = options;
  const preset: Preset = presets[name as AgentName];
  const isBare = (word: string) => barePrompt && word === "{briefFile}";
  const [file = "", ...args] = preset.command.map((word) => (isBare(word) ? "{promptFile}" : word));
  // `-` stands for standard input and comes last.
  const dash = args.at(-1) === "-" && name === "codex" ? [args.pop()!] : [];
  const flags = unattended ? preset.unattended : [];
  const env = (unattended && preset.unattendedEnv) || {};
  const stdin = barePrompt && preset.stdin === "brief" ? "prompt" : preset.stdin;
  return { command: [file, ...args, ...flags, ...extra, ...dash], stdin, env };
}
