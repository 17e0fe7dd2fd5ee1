import { accept } from "../../core/refusal.js";
import { forQuery } from "../handler.js";
import { updateMetrics } from "../preparations.js";
import { scope } from "../task-queries.js";
import { history } from "./history.js";
import { stats } from "./stats.js";

export const metricsOperations = {
  "stats.get": forQuery("stats.get", {
    prepare: updateMetrics,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      return project.ok ? accept(stats(view, project.value, now)) : project;
    },
  }),
  "metrics.history": forQuery("metrics.history", {
    prepare: updateMetrics,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      return project.ok ? history(view, project.value, input, now) : project;
    },
  }),
};
