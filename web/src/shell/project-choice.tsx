import { useProjects } from "../data/projects.js";
import { hrefTo, navigate, usePlace } from "../router.js";

/** All projects of the org, or one; there is nothing to choose where there is only one. */
export function ProjectChoice() {
  const { path, query, project } = usePlace();
  const names = useProjects()?.map(({ id }) => id) ?? [];
  if (names.length < 2 && project === "*") return null;
  const choose = (name: string) => {
    // A task is of one project: another one's tasks are in its queue.
    if (path.startsWith("/tasks/")) return navigate(hrefTo("/queue", { project: name }));
    const next = new URLSearchParams(query);
    if (name === "*") next.delete("project");
    else next.set("project", name);
    const text = next.toString();
    navigate(text === "" ? path : `${path}?${text}`);
  };
  const shown = names.includes(project) || project === "*" ? names : [...names, project];
  return (
    <select aria-label="Project" value={project} onChange={(event) => choose(event.target.value)}>
      <option value="*">All projects</option>
      {shown.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
