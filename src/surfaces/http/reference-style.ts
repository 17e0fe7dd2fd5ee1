// The reference's style sheet, served beside the page because its policy forbids styles inside.

export const referenceCss = `:root {
  color-scheme: light dark;
  --page: #fff;
  --panel: #f6f7f9;
  --line: #dfe3e8;
  --text: #1c2127;
  --quiet: #59636f;
  --link: #0b57b8;
  --get: #0a6b3d;
  --post: #0b57b8;
  --patch: #8a5300;
  --delete: #b3261e;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161b;
    --panel: #1b2129;
    --line: #2f3843;
    --text: #e3e8ee;
    --quiet: #9aa7b5;
    --link: #7db4ff;
    --get: #6bd39a;
    --post: #7db4ff;
    --patch: #f0b35b;
    --delete: #ff938a;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0;
  background: var(--page);
  color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
code, pre, var { font-family: var(--mono); font-size: 0.875em; font-style: normal; }
pre {
  margin: 0 0 1rem;
  padding: 0.75rem 0.875rem;
  background: var(--panel);
  border: 1px solid var(--line);
  border-radius: 6px;
  font-size: 0.8125rem;
  line-height: 1.5;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
pre i, td i { color: var(--quiet); }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--page); padding: 0.5rem; }

nav { padding: 1rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--panel); }
nav ul { display: inline; margin: 0; padding: 0; list-style: none; }
nav p, nav li { display: inline-block; margin: 0 0.75rem 0.125rem 0; }
nav .brand { display: block; margin: 0 0 0.5rem; font-weight: 650; }
nav .brand a { color: var(--text); }
nav .brand span { color: var(--quiet); font-weight: 400; font-size: 0.875rem; }
nav .operations { display: none; }

main { padding: 1.5rem 1.25rem 4rem; max-width: 82rem; min-width: 0; }
header p, .tag > p, article > p { max-width: 46rem; }
h1 { margin: 0 0 1rem; font-size: 1.875rem; line-height: 1.2; }
h2 { margin: 0 0 0.5rem; font-size: 1.5rem; line-height: 1.25; }
h3 { margin: 0 0 0.5rem; font-size: 1.1875rem; line-height: 1.3; }
h3 a, h3 a:hover { color: inherit; }
h4 {
  margin: 1.25rem 0 0.375rem;
  font-size: 0.75rem;
  font-weight: 650;
  letter-spacing: 0.04em;
  text-transform: uppercase;
  color: var(--quiet);
}
h4 small { text-transform: none; letter-spacing: 0; font-weight: 400; }
p { margin: 0 0 0.75rem; }
.tag { margin-top: 3.5rem; padding-top: 1.5rem; border-top: 2px solid var(--line); }
article { margin-top: 2.5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
article:target h3, tr:target { background: color-mix(in srgb, var(--link) 14%, transparent); }
.method {
  display: inline-block;
  min-width: 3.25em;
  margin-right: 0.625em;
  font: 650 0.6875rem/1.5 var(--mono);
  letter-spacing: 0.02em;
}
.get { color: var(--get); }
.post { color: var(--post); }
.patch { color: var(--patch); }
.delete { color: var(--delete); }
.route { margin-bottom: 0.375rem; overflow-wrap: anywhere; }
.route .method { font-size: 0.8125rem; }
.route code { font-size: 0.9375rem; }
.route var { color: var(--quiet); }
.facts, .notes, .note { color: var(--quiet); font-size: 0.875rem; }
.facts b { color: var(--text); }
.note { margin-top: 0.375rem; }
.index { margin: 1rem 0 0; padding: 0; list-style: none; font-size: 0.9375rem; }
.index li { padding: 0.25rem 0; overflow-wrap: anywhere; }
.index span:last-child { color: var(--quiet); }

table { width: 100%; border-collapse: collapse; font-size: 0.9375rem; }
th, td { padding: 0.4375rem 0.75rem 0.4375rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 400; }
thead th { color: var(--quiet); font-size: 0.8125rem; border-top: 0; }
.fields th { width: 36%; overflow-wrap: anywhere; }
.fields th code { font-weight: 600; }
.fields td { overflow-wrap: anywhere; }
.needed { display: block; color: var(--delete); font-size: 0.75rem; }
.notes p { margin: 0; }
.status { font-family: var(--mono); font-size: 0.8125rem; }
.codes .status { width: 4rem; }
.codes a, .codes td > code { margin-right: 0.5rem; overflow-wrap: anywhere; }
.codes.all { width: auto; }
.codes.all td { padding-right: 1.5rem; }
.codes.all td:nth-child(n + 3) { color: var(--quiet); font-size: 0.875rem; }
details code { margin-right: 0.375rem; }
summary { cursor: pointer; }
.shape table { max-width: 52rem; }
.columns > div { min-width: 0; }

@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 16rem minmax(0, 1fr); }
  nav {
    position: sticky;
    top: 0;
    height: 100vh;
    overflow-y: auto;
    padding: 1.5rem 1rem 2rem 1.25rem;
    border-right: 1px solid var(--line);
    border-bottom: 0;
    font-size: 0.875rem;
  }
  nav ul { display: block; }
  nav p, nav li { display: block; margin: 0; }
  nav .brand { margin-bottom: 1rem; font-size: 1.0625rem; }
  nav .brand span { display: block; }
  nav p:not(.brand) { margin-top: 1rem; font-weight: 650; }
  nav p:not(.brand) a { color: var(--text); }
  nav .operations { display: block; }
  nav li a { display: block; padding: 0.125rem 0; overflow-wrap: anywhere; }
  nav .operations a { color: var(--text); }
  main { padding: 2.5rem 3rem 6rem; }
}
@media (min-width: 75rem) {
  .columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2.5rem; }
  .columns > div > h4:first-child { margin-top: 0.5rem; }
  .index li { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2.5rem; }
}
@media print {
  nav { display: none; }
  body { display: block; }
  article { break-inside: avoid; }
}
`;
