/** Each role may do what the ones before it may. */
export const roles = ["viewer", "worker", "leader", "admin"] as const;
export type Role = (typeof roles)[number];

export function isAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
