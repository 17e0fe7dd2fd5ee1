// What a part of the rig has done: `npm run proof` adds it up.

import { appendFileSync } from "node:fs";

export type Figures = Readonly<Record<string, number>>;

export function report(part: string, figures: Figures): void {
  const file = process.env.DIBS_PROOF_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify({ part, figures })}\n`);
  const told = Object.entries(figures).map(([name, count]) => `${count} ${name}`);
  console.info(`${part}: ${told.join(", ")}`);
}

/** How much a test does: little as part of `npm test`, more in the rig. */
export function amount(name: string, usual: number): number {
  return Number(process.env[`DIBS_PROOF_${name}`]) || usual;
}
