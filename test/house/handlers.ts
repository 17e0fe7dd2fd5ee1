// What an operation does is in its handler object. A list, table, switch or comparison of names elsewhere
// would be a second place.

import ts from "typescript";
import { isTest, lineOf, parse, type Source, walk } from "./source.js";

const definers = new Set(["forCommand", "forQuery", "forCalls"]);

/** The operations that these files define handlers for, in order, each as often as it is defined. */
export function definedHandlers(sources: Source[]): string[] {
  return sources.flatMap((source) => {
    const found: string[] = [];
    walk(parse(source), (node) => {
      const [name] = isDefinition(node) ? node.arguments : [];
      if (name && ts.isStringLiteral(name)) found.push(name.text);
    });
    return found;
  });
}

/** One line per decision that depends on the name of an operation. */
export function decisionsByName(sources: Source[], names: ReadonlySet<string>): string[] {
  return sources
    .filter(({ path }) => path.startsWith("src/operations/") && !isTest(path))
    .flatMap((source) => {
      const problems: string[] = [];
      walk(parse(source), (node) => {
        if (!ts.isStringLiteralLike(node) || !names.has(node.text) || !isDecision(node)) return;
        problems.push(
          `${source.path}:${lineOf(node)} decides by the name ${node.text}. ` +
            "Instead: add a member to the handlers in handler.ts, and set it in the handler of the operation.",
        );
      });
      return problems;
    });
}

function isDefinition(node: ts.Node): node is ts.CallExpression {
  return ts.isCallExpression(node) && ts.isIdentifier(node.expression) && definers.has(node.expression.text);
}

function isDecision(name: ts.StringLiteralLike): boolean {
  const { parent } = name;
  if (ts.isPropertyAssignment(parent)) return parent.name === name && !isDefinition(parent.initializer);
  return (
    ts.isMethodDeclaration(parent) ||
    ts.isCaseClause(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isBinaryExpression(parent)
  );
}
