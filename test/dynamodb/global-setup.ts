// One DynamoDB Local for all test files; each store has tables with a prefix of its own.

import type { TestProject } from "vitest/node";
import { missingPart, startServer } from "./server.js";

declare module "vitest" {
  export interface ProvidedContext {
    /** Null: there is none on this machine, and the tests that need it are skipped. */
    dynamoEndpoint: string | null;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const missing = missingPart();
  if (missing !== null) {
    if (process.env.CI || process.env.TEST_DYNAMODB)
      throw new Error(`DynamoDB Local cannot be started: ${missing}.`);
    console.warn(`Tests over DynamoDB Local are skipped: ${missing}.`);
    project.provide("dynamoEndpoint", null);
    return undefined;
  }
  const server = await startServer();
  project.provide("dynamoEndpoint", server.endpoint);
  return () => server.stop();
}
