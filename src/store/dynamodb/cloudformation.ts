// The tables as a CloudFormation template, for those who create nothing by hand.

import { settingsFrom } from "./address.js";
import type { TableDefinition } from "./client.js";
import { tableDefinitions } from "./tables.js";

export function templateFor(address: string): string {
  const { prefix, where } = settingsFrom(address);
  const resources = tableDefinitions(prefix).map((definition) => [
    logicalName(definition, prefix),
    resourceOf(definition),
  ]);
  const template = {
    AWSTemplateFormatVersion: "2010-09-09",
    Description: `Tables of the Dibs store ${where}`,
    Resources: Object.fromEntries(resources),
  };
  return JSON.stringify(template, null, 2);
}

const logicalName = ({ table }: TableDefinition, prefix: string) => `${table.slice(prefix.length + 1)}Table`;

function resourceOf({ table, expiresBy }: TableDefinition) {
  return {
    Type: "AWS::DynamoDB::Table",
    // A stack that is deleted or changed by mistake leaves the data.
    DeletionPolicy: "Retain",
    UpdateReplacePolicy: "Retain",
    Properties: {
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: ["PK", "SK"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: [
        { AttributeName: "PK", KeyType: "HASH" },
        { AttributeName: "SK", KeyType: "RANGE" },
      ],
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      ...(expiresBy !== undefined && {
        TimeToLiveSpecification: { AttributeName: expiresBy, Enabled: true },
      }),
    },
  };
}
