// An org and its projects. All settings live in the store, so that every process on it follows the same ones.

import { normalUses } from "./resource.js";
import type { ScopeSettings } from "./scopes.js";

export interface Org {
  org: string;
  /** Number of the last event; the next one is one higher, in commit order, without gaps. */
  eventSeq: number;
  /** Events below this number have been archived. */
  eventMin: number;
  ordinal: number;
  notificationSeq: number;
  lastAt: number;
  /** The latest time there ever was; later than `lastAt` only if the clock went far back. */
  highestAt: number;
  defaultProject: string;
  createdAt: number;
}

export interface ClaimSettings {
  defaultTtlMs: number;
  minTtlMs: number;
  maxTtlMs: number;
  startTimeoutMs: number;
  heartbeatIntervalMs: number;
  cleanupIntervalMs: number;
  orphanThresholdMs: number;
  warningThresholdMs: number;
  expiringThresholdMs: number;
  staleAfterMs: number;
}

export interface RetrySettings {
  delayMs: number;
  backoff: "exponential" | "fixed";
  maxDelayMs: number;
  /** 0.1 spreads the delay by ±10 %. */
  jitter: number;
}

export interface AgeingSettings {
  enabled: boolean;
  stepMs: number;
  boost: number;
  boostMax: number;
}

export type Order = "priority" | "depth-first";

/** A command that must exit 0 on the tree that would land. */
export interface LandCheck {
  name: string;
  run: string[];
  timeoutMs: number;
  /** Limits it to submissions that touch them; empty: every submission. */
  paths: string[];
}

export interface LandSettings {
  /** The branch that work lands on. Null: completing a task ends it. */
  target: string | null;
  /** Where target and task branches are, for workers on several machines. Null: all in one local repository. */
  remote: string | null;
  /** The root commit of the repository. */
  repository: string | null;
  checks: LandCheck[];
  /** Prepares the landing worktree; runs again when one of the paths changed. */
  setup: { run: string[]; paths: string[] } | null;
  /** Who must approve a submission before it lands. */
  review: ReviewSetting;
  /** A submission that touches one of these needs a human's approval in any case: checks run what an agent may have edited. */
  reviewPaths: string[];
  reviewRoundsMax: number;
  returnsMax: number;
  batchMax: number;
}

export const reviewSettings = ["none", "human", "agent", "any"] as const;
export type ReviewSetting = (typeof reviewSettings)[number];

/** Package manifests, CI, test configuration, attributes of git, hooks. */
const reviewPathsDefault = [
  "**/package.json",
  "**/pyproject.toml",
  "**/setup.py",
  "**/setup.cfg",
  "**/Cargo.toml",
  "**/go.mod",
  "**/Gemfile",
  "**/pom.xml",
  "**/build.gradle*",
  "**/Makefile",
  "**/CMakeLists.txt",
  ".github/**",
  ".gitlab-ci.yml",
  ".circleci/**",
  ".ci/**",
  "Jenkinsfile",
  "**/{vitest,jest,playwright,karma,cypress}.config.*",
  "**/{pytest,tox}.ini",
  "**/conftest.py",
  "**/.gitattributes",
  ".gitmodules",
  ".husky/**",
  ".githooks/**",
  ".pre-commit-config.yaml",
];

export interface WorktreeSettings {
  /** Run in every new task worktree. */
  setup: string[] | null;
  /** Copied into every new task worktree. */
  copy: string[];
}

export interface Settings {
  claim: ClaimSettings;
  retry: RetrySettings;
  ageing: AgeingSettings;
  order: Order;
  maxRetries: number;
  maxLost: number;
  notifications: { taskCompleted: boolean };
  land: LandSettings;
  worktree: WorktreeSettings;
  /** Units of resources that every claim uses. */
  uses: Record<string, number>;
  scopes: ScopeSettings;
}

export interface Project {
  id: string;
  settings: Settings;
  paused: boolean;
  createdAt: number;
  updatedAt: number;
}

export const defaultSettings: Settings = {
  claim: {
    defaultTtlMs: 1_800_000,
    minTtlMs: 60_000,
    maxTtlMs: 7_200_000,
    startTimeoutMs: 300_000,
    heartbeatIntervalMs: 60_000,
    cleanupIntervalMs: 300_000,
    orphanThresholdMs: 600_000,
    warningThresholdMs: 300_000,
    expiringThresholdMs: 60_000,
    staleAfterMs: 300_000,
  },
  retry: { delayMs: 30_000, backoff: "exponential", maxDelayMs: 3_600_000, jitter: 0.1 },
  ageing: { enabled: true, stepMs: 300_000, boost: 20, boostMax: 40 },
  order: "priority",
  maxRetries: 3,
  maxLost: 3,
  notifications: { taskCompleted: false },
  land: {
    target: null,
    remote: null,
    repository: null,
    checks: [],
    setup: null,
    review: "none",
    reviewPaths: reviewPathsDefault,
    reviewRoundsMax: 3,
    returnsMax: 5,
    batchMax: 8,
  },
  worktree: { setup: null, copy: [] },
  uses: {},
  scopes: { exclusive: [] },
};

/** Stores and exports of earlier programs have no settings about landing and resources, or not all of them. */
export function wholeSettings(stored: Partial<Settings>): Settings {
  if (stored.land?.reviewPaths && stored.worktree && stored.uses && stored.scopes) return stored as Settings;
  const { land, worktree, uses, scopes } = defaultSettings;
  return { worktree, uses, scopes, ...stored, land: { ...land, ...stored.land } } as Settings;
}

export type SettingsPatch = {
  [K in keyof Settings]?: Settings[K] extends Record<string, number>
    ? Settings[K]
    : Settings[K] extends object
      ? Partial<Settings[K]>
      : Settings[K];
};

export function mergeSettings(base: Settings, patch: SettingsPatch | undefined): Settings {
  if (!patch) return base;
  return {
    ...base,
    ...patch,
    claim: { ...base.claim, ...patch.claim },
    retry: { ...base.retry, ...patch.retry },
    ageing: { ...base.ageing, ...patch.ageing },
    notifications: { ...base.notifications, ...patch.notifications },
    land: { ...base.land, ...patch.land },
    worktree: { ...base.worktree, ...patch.worktree },
    scopes: { ...base.scopes, ...patch.scopes },
    uses: { ...(normalUses(patch.uses) ?? (patch.uses ? {} : base.uses)) },
  };
}

/** What must hold between settings. The default length can be outside the bounds: they judge what is asked for. */
export function settingsProblem({ claim }: Settings): { path: string; message: string } | null {
  if (claim.minTtlMs <= claim.maxTtlMs) return null;
  const path = "settings.claim.minTtlMs";
  return {
    path,
    message: `${path} must be at most claim.maxTtlMs (${claim.maxTtlMs}), not ${claim.minTtlMs}.`,
  };
}

/** Time as an org sees it: small steps back are absorbed, so that events stay in order; large ones are followed,
 * because a clock that was once set years ahead must not freeze every lease until then. */
export function orgTime(lastAt: number, clock: number, stepBackMax: number): number {
  return clock < lastAt && lastAt - clock <= stepBackMax ? lastAt : clock;
}
