// Defects that the rig has found and that are not mended yet: each flag turns one check off. Mend, set to false, remove.

export const known: Record<"readyInTheFuture" | "negativeDuration", boolean> = {
  /** After a large step back of the clock, tasks that became ready before it wait until the clock has caught up. */
  readyInTheFuture: true,
  /** A repeated release answers with a negative duration when the clock has stepped back since the claim. */
  negativeDuration: true,
};
