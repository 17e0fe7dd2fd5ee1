import { createRequire } from "node:module";

// The validator of OpenAPI documents brings a YAML parser along.
const validator = createRequire(import.meta.url).resolve("@seriousme/openapi-schema-validator");
const { parse } = createRequire(validator)("yaml");

// biome-ignore lint/suspicious/noExplicitAny: each file has its own shape.
export const yaml = (text: string): any => parse(text);
