// The verdict of a reviewer's command: the file at DIBS_RESULT_FILE, and nothing else.

import { readBounded } from "./result.js";

export interface GivenVerdict {
  verdict: "approve" | "request-changes";
  findings: string;
}

/** As long as the store takes. */
const findingsLengthMax = 16 * 1024;

/** The verdict, or why there is none. */
export async function readVerdict(path: string): Promise<GivenVerdict | { missing: string }> {
  const text = await readBounded(path);
  if (text === null || text.trim() === "") return { missing: "no verdict in the result file" };
  const { verdict, findings = "" } = objectIn(text);
  const isVerdict = verdict === "approve" || verdict === "request-changes";
  if (!isVerdict || typeof findings !== "string")
    return {
      missing: 'the result file is not {"verdict": "approve" | "request-changes", "findings": "text"}',
    };
  const said = findings.trim().slice(0, findingsLengthMax).toWellFormed();
  if (verdict === "request-changes" && said === "") return { missing: "changes requested without findings" };
  return { verdict, findings: said };
}

function objectIn(text: string): { verdict?: unknown; findings?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
