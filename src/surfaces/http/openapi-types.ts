// The parts of OpenAPI 3.1 that our document uses.

import type { Schema } from "./schema.js";

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, ResponseObject>;
    parameters: Record<string, ParameterObject>;
    securitySchemes: Record<string, object>;
  };
}

export interface Reference {
  $ref: string;
}

export interface OperationObject {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: (ParameterObject | Reference)[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, ResponseObject | Reference>;
  /** The least role that may call it; absent where no token is needed. */
  "x-dibs-role"?: string;
  "x-dibs-cli"?: string;
  "x-dibs-mcp"?: string;
}

export interface ParameterObject {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
  style?: string;
  explode?: boolean;
}

export interface ResponseObject {
  description: string;
  headers?: Record<string, { description: string; schema: Schema }>;
  content?: Record<string, { schema: Schema }>;
}

export const jsonType = "application/json";
export const problemType = "application/problem+json";

/** `#/components/responses/Unauthorized` → what stands there. */
export function lookUp<T extends object>(document: OpenApiDocument, value: T | Reference): T {
  if (!("$ref" in value) || !value.$ref.startsWith("#/")) return value as T;
  const steps = value.$ref.slice(2).split("/");
  return steps.reduce((at, step) => (at as Record<string, unknown>)[step] as object, document as object) as T;
}
