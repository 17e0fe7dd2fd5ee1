// The address of a store: `dynamodb://<region>/<prefix>[?endpoint=…]`.

import { StoreError } from "../store.js";

export interface Settings {
  region: string;
  /** What the names of its tables begin with. */
  prefix: string;
  /** Of DynamoDB Local or a VPC endpoint; null: the region's. */
  endpoint: string | null;
  /** For people and error texts: the address again. */
  where: string;
}

const example = "dynamodb://eu-west-1/dibs";
const known = new Set(["endpoint"]);
/** Table names have at most 255 characters; the longest of ours adds 14. */
const prefixLengthMax = 200;

export function settingsFrom(address: string): Settings {
  const url = parsed(address);
  const problem = url === null ? "it is not a URL" : problemOf(url);
  if (url === null || problem !== null) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `DynamoDB address ${redacted(address)} can't be used: ${problem}.`,
      `For example: ${example}`,
    );
  }
  const region = url.hostname;
  const prefix = url.pathname.slice(1);
  const endpoint = url.searchParams.get("endpoint");
  const at = endpoint === null ? "" : `?endpoint=${endpoint}`;
  return { region, prefix, endpoint, where: `dynamodb://${region}/${prefix}${at}` };
}

function problemOf(url: URL): string | null {
  if (url.protocol !== "dynamodb:") return "it must start with dynamodb://";
  if (url.username || url.password) {
    return "it must not contain credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  }
  if (!/^[a-z]{2,}(-[a-z0-9]+)+$/.test(url.hostname) && url.hostname !== "local") {
    return url.hostname === "" ? "the region is missing" : `'${url.hostname}' is not a region`;
  }
  if (url.port) return "a region has no port; name another server with ?endpoint=http://host:port";
  const prefix = url.pathname.slice(1);
  if (prefix === "") return "the prefix of the tables is missing after the region";
  if (!/^[\w.-]+$/.test(prefix) || prefix.length > prefixLengthMax) {
    return `the prefix of the tables must have 1 to ${prefixLengthMax} letters, digits, '_', '-' or '.'`;
  }
  const other = [...url.searchParams.keys()].find((name) => !known.has(name));
  if (other !== undefined) return `'?${other}' is unknown; only ?endpoint= is supported`;
  return endpointProblem(url.searchParams.get("endpoint"));
}

function endpointProblem(endpoint: string | null): string | null {
  if (endpoint === null) return null;
  const url = parsed(endpoint);
  if (!url || !/^https?:$/.test(url.protocol)) return "?endpoint= must be an http(s) address";
  return url.username || url.password ? "?endpoint= must not contain credentials" : null;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

const redacted = (address: string) => address.replace(/\/\/[^/@]*@/g, "//…@");

/** On this machine: DynamoDB Local takes any credentials. */
export function isLocal({ endpoint }: Settings): boolean {
  return endpoint !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(endpoint).hostname);
}
