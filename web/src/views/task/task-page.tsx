export function TaskPage({ project, id }: { project: string | undefined; id: string }) {
  return `${project} ${id}`;
}
