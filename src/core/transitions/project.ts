import type { CreateProjectCommand, UpdateProjectCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { idProblem } from "../ids.js";
import { submittedCount } from "../landing.js";
import { defaultSettings, mergeSettings, type Project, type Settings, settingsProblem } from "../project.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { usesProblem } from "../resource.js";

export function projectNotFound(project: string): Refusal {
  return refuse("PROJECT_NOT_FOUND", `Project ${project} not found.`, {
    hint: "Run: dibs project list, or dibs project create <name>",
    details: { project },
  });
}

export function createProject(draft: Draft, command: CreateProjectCommand): Outcome<null> {
  const { id } = command;
  const problem = idProblem(id);
  if (problem) {
    const message = `Project name '${id.slice(0, 200)}' ${problem}.`;
    return refuse("VALIDATION_FAILED", message, { details: { issues: [{ path: "id", message }] } });
  }
  if (draft.view.project(id)) {
    return refuse("ID_TAKEN", `Project ${id} exists already.`, { details: { id } });
  }
  const settings = mergeSettings(defaultSettings, command.settings);
  const invalid = invalidSettings(settings) ?? settingsUsesProblem(draft, settings);
  if (invalid) return invalid;
  draft.putProject({ id, settings, paused: false, createdAt: draft.now, updatedAt: draft.now });
  draft.emit("project:updated", { project: id, data: { project: id, created: true } });
  return accept(null);
}

export function updateProject(draft: Draft, command: UpdateProjectCommand): Outcome<null> {
  const project = draft.project(command.project);
  const settings = mergeSettings(project.settings, command.settings);
  const invalid =
    invalidSettings(settings) ??
    targetProblem(draft, project, settings) ??
    (command.settings?.uses ? settingsUsesProblem(draft, settings) : null);
  if (invalid) return invalid;
  const paused = command.paused ?? project.paused;
  draft.putProject({ ...project, settings, paused, updatedAt: draft.now });
  draft.emit("project:updated", {
    project: project.id,
    data: {
      project: project.id,
      ...(command.settings ? { settings: command.settings } : {}),
      ...(command.paused === undefined ? {} : { paused }),
    },
  });
  return accept(null);
}

/** What was submitted was made for the target it was submitted to. */
function targetProblem(draft: Draft, { id, settings: { land } }: Project, after: Settings): Refusal | null {
  const count = submittedCount(draft, id);
  if (count === 0 || (land.target === after.land.target && land.repository === after.land.repository))
    return null;
  const tasks = count === 1 ? "1 task is" : `${count} tasks are`;
  return refuse("INVALID_STATE", `land.target of project ${id} cannot change while ${tasks} submitted.`, {
    hint: "Land or withdraw them first. Run: dibs list -s submitted",
    details: { project: id, submitted: count },
  });
}

function settingsUsesProblem(draft: Draft, { uses }: Settings): Refusal | null {
  return usesProblem(draft, "settings.uses", uses, null);
}

function invalidSettings(settings: Settings): Refusal | null {
  const problem = settingsProblem(settings);
  return problem && refuse("VALIDATION_FAILED", problem.message, { details: { issues: [problem] } });
}
