// Names of sections and bullets: which are about the plan, which group tasks, which say something about a task.

import { plain } from "../../common/text.js";
import { splitLabel } from "./labels.js";

/** Sections about the plan, not parts of it. */
export const asides =
  /^(?:acceptance criteria|definition of done|success (?:criteria|metrics)|verification|notes?|risks?|open questions|references|overview|assumptions|out of scope|scope|non-goals|goals|background|summary|context|requirements|next steps|legend|key|introduction|motivation|rationale|constraints|prerequisites|glossary|appendix|faq|timeline|estimates?|total|conclusion|architecture|tech(?:nology)? stack|alternatives|abstract|dependencies|how to|usage|hinweise|anmerkungen|risiken|hintergrund|überblick|zusammenfassung|remarques?|risques|contexte|résumé|notas?|riesgos|resumen|contexto|背景|概述|备注|风险|总结|注意|概要|備考|リスク|риски|примечания|riscos|notas|rischi|note)(?=$|[^\p{L}])/iu;
export const groups =
  /^(?:phase|milestone|epic|stage|sprint|week|day|iteration|workstream|track|wave|meilenstein|woche|jalon|fase|hito|semana|阶段|第.{1,3}阶段|里程碑|フェーズ|マイルストーン)(?=$|[^\p{L}]|\p{Lo})/iu;
/** Sections that hold the tasks. */
export const plans =
  /^(?:the )?(?:(?:implementation|work|project|action|execution|migration|rollout|delivery|development)\s)?(?:plan|tasks?|task (?:list|breakdown)|steps|breakdown|to-?dos?|checklist|action items|work items|backlog|roadmap|phases|aufgaben|schritte|tâches|étapes|tareas|pasos|任务|任务列表|步骤|タスク|手順)$/iu;
export const titleWords =
  /\b(?:plan|tasks?|to-?dos?|checklist|roadmap|breakdown|decomposition|implementation|steps|work items)\b/i;
/** Said about a task, in a bullet below it. */
export const attributes =
  /^(?:should|must|expected|estimate[ds]?|effort|duration|complexity|size|points|cost|risks?|why|reason|rationale|notes?|hint|tip|example|e\.g\.|for example|output|input|result|deliverable|test(?:s|ing)?|verify|make sure|ensure|aufwand|schätzung|estimation|estimación|工时|预计|見積)(?=$|[^\p{L}])/iu;

export const isAsideName = (text: string) => asides.test(bareOf(splitLabel(text.trim()).rest));

/** A name without its number, emphasis and colon. */
export const bareOf = (text: string) =>
  plain(text.slice(0, 200))
    .replace(/[*_`]/g, "")
    .replace(/^[^\p{L}\p{N}]+/u, "")
    .replace(/\s*[:：]$/, "")
    .trim();
