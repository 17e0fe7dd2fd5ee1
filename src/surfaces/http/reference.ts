// The API as a page to read, made from the OpenAPI document. It has no script and loads nothing but its style sheet.

import { exampleAddress, exampleBody } from "./example.js";
import { bodyRows, fieldTable, parameterRow } from "./fields-table.js";
import { html, join, type Markup, prose } from "./markup.js";
import {
  jsonType,
  lookUp,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
  problemType,
  type ResponseObject,
} from "./openapi-types.js";
import { sketchAnswer } from "./sketch.js";

export { referenceCss } from "./reference-style.js";

interface Entry {
  path: string;
  method: string;
  operation: OperationObject;
}

const sharedParameters = ["project", "Dibs-Project", "Idempotency-Key"];

export function referencePage(document: OpenApiDocument): string {
  const { title, version } = document.info;
  const groups = document.tags.map((tag) => ({ ...tag, entries: entriesOf(document, tag.name) }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} HTTP API</title>
<link rel="stylesheet" href="/reference.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Contents">
<p class="brand"><a href="#top">${title} <span>HTTP API ${version}</span></a></p>
<ul>
<li><a href="#refusals">Refusals</a></li>
<li><a href="#shapes">Shapes</a></li>
</ul>
${groups.map(
  ({ name, entries }) => html`<p><a href="#tag-${name}">${name}</a></p>
<ul class="operations">${entries.map(contentsLine)}</ul>
`,
)}
</nav>
<main id="content">
${introduction(document)}
${groups.map(
  ({ name, description, entries }) => html`<section id="tag-${name}" class="tag">
<h2>${name}</h2>
${description && html`<p>${description}.</p>`}
<ul class="index">${entries.map(indexLine)}</ul>
${entries.map((entry) => article(document, entry))}
</section>
`,
)}
${refusalSection(document)}
${shapeSection(document)}
</main>
</body>
</html>
`;
  return page.toString();
}

function entriesOf({ paths }: OpenApiDocument, tag: string): Entry[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({ path, method, operation })),
  );
}

const methodMark = (method: string) =>
  html`<span class="method ${method}">${method === "delete" ? "DEL" : method.toUpperCase()}</span>`;

const contentsLine = ({ method, operation: { operationId } }: Entry) =>
  html`<li><a href="#${operationId}">${methodMark(method)}${operationId.split(".").slice(1).join(".")}</a></li>`;

const indexLine = ({ path, method, operation: { operationId, summary } }: Entry) =>
  html`<li><a href="#${operationId}">${methodMark(method)}<code>${path}</code></a> <span>${prose(summary)}</span></li>`;

const baseOf = ({ servers }: OpenApiDocument) =>
  servers[0]?.url.startsWith("http") ? servers[0].url : "http://127.0.0.1:3427";

function introduction(document: OpenApiDocument): Markup {
  const { title, description } = document.info;
  const example = `curl ${baseOf(document)}/api/tasks \\\n  -H "Authorization: Bearer $DIBS_TOKEN"`;
  return html`<header id="top">
<h1>${title} HTTP API</h1>
${description.split("\n\n").map((paragraph) => html`<p>${prose(paragraph)}</p>\n`)}
<p>Every call needs a token: <code>viewer</code> reads; <code>worker</code> also creates, claims and works; <code>leader</code>
also answers, edits, cancels and retries; <code>admin</code> also manages projects and tokens. For programs there is
<a href="/openapi.json">openapi.json</a>.</p>
<pre class="shell">${example}</pre>
</header>`;
}

function article(document: OpenApiDocument, entry: Entry): Markup {
  const { path, method, operation } = entry;
  const parameters = (operation.parameters ?? []).map((each) => lookUp(document, each));
  const own = parameters.filter(({ name }) => !sharedParameters.includes(name));
  const rows = bodyRows(operation.requestBody?.content[jsonType]?.schema, document.components.schemas);
  const body = rows.filter(({ name }) => !sharedParameters.includes(name));
  return html`<article id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${prose(operation.summary)}</a></h3>
<p class="route">${methodMark(method)}<code>${join(path.split("/").map(segment), html`/<wbr>`)}</code></p>
<p class="facts">${join(facts(operation, parameters), html`<span class="dot"> · </span>`)}</p>
${operation.description && html`<p>${prose(operation.description)}</p>`}
<div class="columns">
<div>
${fieldTable(
  "Parameters",
  own.map((each) => parameterRow(each, document.components.schemas)),
)}
${fieldTable("Body", body)}
${refusals(document, operation)}
</div>
<div class="examples">
<h4>Request</h4>
<pre class="shell">${curl(document, entry)}</pre>
${answers(document, operation)}
</div>
</div>
</article>
`;
}

const segment = (text: string) => (text.startsWith("{") ? html`<var>${text}</var>` : text);

function facts(operation: OperationObject, parameters: ParameterObject[]): Markup[] {
  const { operationId, "x-dibs-role": role, "x-dibs-cli": cli, "x-dibs-mcp": mcp } = operation;
  const project = parameters.find(({ name }) => name === "project");
  return [
    html`<code>${operationId}</code>`,
    role ? html`needs the role <b>${role}</b>` : html`needs no token`,
    project && (project.schema.anyOf ? html`one project or <code>*</code>` : html`one project`),
    cli && html`CLI <code>${cli}</code>`,
    mcp && html`MCP <code>${mcp}</code>`,
  ].filter((each) => typeof each === "object");
}

function curl(document: OpenApiDocument, { path, method, operation }: Entry): string {
  const address = `${baseOf(document)}${exampleAddress(document, path, operation)}`;
  const body = exampleBody(document, operation);
  const types = Object.keys(lookUp(document, operation.responses[200] ?? { description: "" }).content ?? {});
  const isStream = types.includes("text/event-stream");
  const lines = [
    `curl${isStream ? " -N" : ""}${method === "get" ? "" : ` -X ${method.toUpperCase()}`} ${quoted(address)}`,
    ...(operation.security?.length === 0 ? [] : ['-H "Authorization: Bearer $DIBS_TOKEN"']),
    ...(types.length > 1 ? [`-H "Accept: ${types.join(", ")}"`] : []),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${shellText(body)}'`]),
  ];
  return lines.join(" \\\n  ");
}

const quoted = (address: string) => (/[?&*]/.test(address) ? `"${address}"` : address);

function shellText(body: unknown): string {
  const line = JSON.stringify(body);
  const short = (text: string) => text.replace(/\[\s+("[^"]*"|\d+)\s+\]/g, "[$1]");
  const text = line.length <= 60 ? line : short(JSON.stringify(body, null, 2)).replaceAll("\n", "\n  ");
  return text.replaceAll("'", "'\\''");
}

function answers(document: OpenApiDocument, operation: OperationObject): Markup[] {
  return Object.entries(operation.responses).flatMap(([status, response]) => {
    const { content = {}, headers = {}, description } = lookUp(document, response);
    if (problemType in content) return [];
    const schema = content[jsonType]?.schema;
    const [type = ""] = Object.keys(content);
    const shown = schema?.properties || schema?.$ref || schema?.anyOf ? schema : undefined;
    return [
      html`<h4>Answer <span class="status">${status}</span>${type !== jsonType && html` <small>${type}</small>`}</h4>
${
  shown
    ? html`<pre>${sketchAnswer(shown, operation.operationId, document.components.schemas)}</pre>`
    : html`<p>${description}.</p>`
}${Object.entries(headers).map(([name, each]) => html`<p><code>${name}</code>: ${each.description}.</p>`)}`,
    ];
  });
}

const codesOf = ({ content }: ResponseObject): string[] => {
  const [, narrowed] = content?.[problemType]?.schema.allOf ?? [];
  return (narrowed?.properties?.error?.enum ?? []) as string[];
};

const codeLink = (code: string) => html`<a href="#${code}"><code>${code}</code></a>`;

/** Only what is particular: what every operation can answer stands in one place. */
function refusals(document: OpenApiDocument, { responses }: OperationObject): Markup | undefined {
  const common = new Set(Object.values(document.components.responses).flatMap(codesOf));
  const rows = Object.entries(responses).flatMap(([status, response]) => {
    const own = codesOf(lookUp(document, response)).filter((code) => !common.has(code));
    if (own.length === 0) return [];
    return [html`<tr><td class="status">${status}</td><td>${join(own.map(codeLink), " ")}</td></tr>\n`];
  });
  const everywhere = html`<p class="note">Also <a href="#refusals">what any call can be refused with</a>.</p>`;
  if (rows.length === 0) return undefined;
  return html`<h4>Refusals</h4>
<table class="codes"><tbody>${rows}</tbody></table>${everywhere}`;
}

function refusalSection(document: OpenApiDocument): Markup {
  const problem = document.components.schemas.Problem!;
  const common = new Set(Object.values(document.components.responses).flatMap(codesOf));
  const codes = Object.entries(problem["x-dibs-codes"] ?? {}).sort(([, a], [, b]) => a.status - b.status);
  const rows = codes.map(
    ([
      code,
      { status, retryable, means },
    ]) => html`<tr id="${code}"><td class="status">${status}</td><td><code>${code}</code></td>
<td>${means}</td><td>${retryable && "transient"}</td><td>${common.has(code) && "any call"}</td></tr>\n`,
  );
  return html`<section id="refusals" class="tag">
<h2>Refusals</h2>
<p>A refusal changes nothing. Its body is a <a href="#Problem">Problem</a>; decide by <code>error</code>, show <code>message</code>
and <code>hint</code> to people. “Transient” means that <code>retryable</code> is true.</p>
<table class="codes all"><thead><tr><th>Status</th><th>Code</th><th>Meaning</th><th></th><th></th></tr></thead><tbody>${rows}</tbody></table>
</section>`;
}

function shapeSection({ components: { schemas } }: OpenApiDocument): Markup {
  const shapes = Object.entries(schemas).map(([name, schema]) => {
    const rows = bodyRows(schema, schemas);
    return html`<article id="${name}" class="shape">
<h3><a href="#${name}">${name}</a></h3>
${schema.description && html`<p>${prose(schema.description)}</p>`}
${rows.length > 0 ? fieldTable("", rows) : html`<p>${parameterRow({ name, in: "query", schema }, schemas).type}</p>`}
</article>
`;
  });
  return html`<section id="shapes" class="tag">
<h2>Shapes</h2>
<p>The parts of requests and answers. New fields can appear in answers: ignore those you do not know.</p>
${shapes}
</section>`;
}
