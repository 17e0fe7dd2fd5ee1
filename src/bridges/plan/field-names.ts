// What authors call our fields, in the languages that plans are written in.

export type Field =
  | "title"
  | "description"
  | "prompt"
  | "priority"
  | "files"
  | "dependsOn"
  | "blocks"
  | "requires"
  | "labels"
  | "uses"
  | "assignee"
  | "agentType"
  | "phase"
  | "maxRetries"
  | "timeout"
  | "status"
  | "type"
  | "label"
  | "parent";

const names: Record<Field, string[]> = {
  title: ["title|name|task title|task name", "titel|titre|título|titulo|标题|タイトル"],
  description: [
    "description|desc|details|summary|goal|objective|what",
    "beschreibung|ziel|détails|objectif|descripción|descripcion|objetivo|descrição|描述|说明|説明|目标|目的",
  ],
  prompt: ["prompt|instructions"],
  priority: [
    "priority|prio",
    "priorität|prioritaet|priorité|prioridad|prioridade|priorità|приоритет|优先级|優先度|優先級",
  ],
  files: [
    "files|file|paths|files to modify|files to create|files to change|files to touch",
    "files to create modify|files to modify create|files modified|files affected|affected files",
    "file paths|expected files|target files",
    "dateien|datei|fichiers|fichier|archivos|archivo|ficheros|arquivos|文件|ファイル|файлы",
  ],
  dependsOn: [
    "depends on|dependson|depends|dependencies|dependency|deps|after|needs",
    "blocked by|blockedby|prerequisite|prerequisites|prereq|prereqs|dep|predecessor|predecessors|waits for|waits on|depends upon|dependent on",
    "abhängig von|abhängigkeit|abhängigkeiten|hängt ab von|voraussetzung|voraussetzungen|wartet auf|blockiert durch|nach",
    "dépend de|dépendance|dépendances|bloqué par|prérequis|après",
    "depende de|dependencia|dependencias|bloqueado por|requisitos previos|después de",
    "dependência|dependências|depois de|após|dipende da|dipendenza|dipendenze|dopo",
    "зависит от|зависимости|после|依赖|依赖于|依赖项|依赖任务|前置|前置任务|前置条件|依賴|依存|依存先|依存関係|前提|前提タスク|의존성|선행 작업",
  ],
  blocks: ["blocks|unblocks|blocking|required by|needed by|blockiert|bloque|bloquea"],
  requires: [
    "requires|required capabilities|required capability|capabilities|capability",
    "requiert|requiere|benötigt",
  ],
  labels: ["labels|label|tags|tag", "etiquetas|étiquettes|标签|ラベル"],
  uses: ["uses"],
  assignee: [
    "assignee|assigned to|assignedto|owner",
    "verantwortlich|zuständig|responsable|responsável|负责人|担当|担当者",
  ],
  agentType: ["agent type|agenttype|agent"],
  phase: ["phase|stage"],
  maxRetries: ["max retries|maxretries|retries|retry limit|maximum retries"],
  timeout: ["timeout|time out|time limit|zeitlimit|délai|超时|タイムアウト"],
  status: ["status|state|estado|statut|状态|状態"],
  type: ["type|kind"],
  label: ["id|task id|taskid|key"],
  parent: ["parent|parent id|parentid|parent key|parent task"],
};

const byName = new Map(
  Object.entries(names).flatMap(([field, rows]) =>
    rows.flatMap((row) => row.split("|").map((name) => [name, field as Field] as const)),
  ),
);

/** Its names, longest first. */
export const namesOf = (field: Field): string[] =>
  names[field].flatMap((row) => row.split("|")).toSorted((a, b) => b.length - a.length);

/** Which field an author means by a name such as `DEPENDS_ON`, `dependsOn`, `Depends on` or `Abhängig von`. */
export function fieldNamed(name: string): Field | undefined {
  const bare = name
    .normalize("NFC")
    .toLowerCase()
    .replace(/[\s_/&-]+/g, " ");
  return byName.get(bare.trim());
}
