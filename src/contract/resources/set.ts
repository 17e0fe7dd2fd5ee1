import { z } from "zod";
import { limits } from "../../core/limits.js";
import { budgetPeriods, budgetUnits } from "../../core/resource.js";
import { id } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { resourceAnswer } from "../shapes.js";

export { type Budget, budgetPeriods, budgetUnits } from "../../core/resource.js";

const budget = once(() =>
  z.strictObject({
    amount: z.number().positive().max(limits.budgetAmountMax),
    unit: z.enum(budgetUnits),
    period: z.enum(budgetPeriods).describe("Calendar periods in UTC, weeks from Monday; total never ends"),
  }),
);

export const setResource = operation({
  name: "resources.set",
  summary: "Create a resource, or change its capacity and budgets",
  kind: "command",
  role: "leader",
  input: () =>
    z.strictObject({
      id: id(),
      capacity: z
        .number()
        .int()
        .min(1)
        .max(limits.unitsMax)
        .nullable()
        .optional()
        .describe("How many units there are; null: no limit. Default: as before"),
      budgets: z
        .array(budget())
        .max(limits.budgetsMax)
        .optional()
        .describe("Instead of those it has, one per unit and period"),
    }),
  output: resourceAnswer,
  refusals: [],
  repeatable: true,
  http: { method: "PUT", path: "/api/resources/:id" },
  cli: "resource set",
});
