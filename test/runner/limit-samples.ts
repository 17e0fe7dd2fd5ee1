// What agents have printed when they ran into a limit, and as usage. Each says where it is from: a public repository and a number there.
// Ids and addresses of people are left out.

export interface Sample {
  agent: string;
  text: string;
  /** When it was printed, where that matters. */
  at?: string;
  /** When it says that the limit ends, or null. */
  reset: string | null;
  from: string;
}

/** The zone of the machine for messages that name none. */
export const zone = "America/New_York";

const printedAt = "2026-03-10T15:00:00Z";
export const sampleTime = ({ at = printedAt }: Pick<Sample, "at">) => Date.parse(at);

export const textSamples: Sample[] = [
  {
    agent: "claude",
    text: "Claude AI usage limit reached|1760000400",
    at: "2025-10-09T06:00:00Z",
    reset: "2025-10-09T09:00:00Z",
    from: "anthropics/claude-code#9046",
  },
  {
    agent: "claude",
    text: "You've hit your session limit · resets 3:50pm (Asia/Tokyo)",
    at: "2026-08-13T04:49:00Z",
    reset: "2026-08-13T06:50:00Z",
    from: "anthropics/claude-code#86272",
  },
  {
    agent: "claude",
    text: "You've hit your limit · resets 1pm (Europe/Lisbon)",
    at: "2026-01-24T09:00:00Z",
    reset: "2026-01-24T13:00:00Z",
    from: "slopus/happy#465",
  },
  {
    agent: "claude",
    text: "You've hit your limit · resets Apr 23 at 4pm (America/Recife)",
    at: "2026-04-22T13:40:00Z",
    reset: "2026-04-23T19:00:00Z",
    from: "anthropics/claude-code#51981",
  },
  {
    agent: "claude",
    text: "You've hit your session limit · resets 12:50am (America/Los_Angeles)",
    at: "2026-07-04T06:30:00Z",
    reset: "2026-07-04T07:50:00Z",
    from: "anthropics/claude-code#74079",
  },
  {
    agent: "claude",
    text: "You've hit your session limit · resets 1:20pm (Asia/Calcutta)",
    at: "2026-07-27T05:00:00Z",
    reset: "2026-07-27T07:50:00Z",
    from: "anthropics/claude-code#81561",
  },
  {
    agent: "claude",
    text: "Claude usage limit reached. Your limit will reset \n     at 3pm (America/Santiago).",
    at: "2025-10-09T14:00:00Z",
    reset: "2025-10-09T18:00:00Z",
    from: "anthropics/claude-code#9236",
  },
  {
    agent: "claude",
    text: ' ⎿  Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5). "',
    at: "2025-06-14T17:56:00Z",
    reset: "2025-06-14T18:00:00Z",
    from: "anthropics/claude-code#2087",
  },
  {
    agent: "claude",
    text: "You're out of extra usage · resets 1pm (America/Los_Angeles)",
    at: "2026-03-27T17:31:00Z",
    reset: "2026-03-27T20:00:00Z",
    from: "anthropics/claude-code#39937",
  },
  {
    agent: "claude",
    text: `API Error (429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit. Please try again later."}}) · Retrying in 2892 seconds… (attempt 1/10)`,
    reset: "2026-03-10T15:48:12Z",
    from: "Wei-Shaw/claude-relay-service#56",
  },
  {
    agent: "claude",
    text: "Credit balance too low · Add funds: https://console.anthropic.com/settings/billing",
    reset: null,
    from: "anthropics/claude-code#356",
  },
  {
    agent: "codex",
    text: "■ You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11\nminutes.",
    reset: "2026-03-16T13:11:00Z",
    from: "openai/codex#3899",
  },
  {
    agent: "codex",
    text: "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 6:44 PM.",
    reset: "2026-03-10T22:44:00Z",
    from: "openai/codex#22650",
  },
  {
    agent: "codex",
    text: "■ You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit\nhttps://chatgpt.com/codex/settings/usage to purchase more credits or try again at 2:51 PM.",
    reset: "2026-03-10T18:51:00Z",
    from: "openai/codex#47047",
  },
  {
    agent: "codex",
    text: "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Apr 28th, 2026 10:03 PM.",
    at: "2026-04-25T20:00:00Z",
    reset: "2026-04-29T02:03:00Z",
    from: "Th0rgal/sandboxed.sh#394",
  },
  {
    agent: "codex",
    text: "Quota exceeded. Check your plan and billing details.",
    reset: null,
    from: "openai/codex#20786",
  },
  {
    agent: "codex",
    text: "exceeded retry limit, last status: 429 Too Many Requests, request id: c4fc59ca",
    reset: null,
    from: "icebear0828/codex-proxy#396",
  },
  {
    agent: "opencode",
    text: `Error: Codex error: {"type":"error","error":{"type":"usage_limit_reached","message":"The usage limit has been\n reached","plan_type":"plus","resets_at":1777936568,"eligible_promo":null,"resets_in_seconds":13872},"status_code":429,`,
    at: "2026-05-04T19:24:56Z",
    reset: "2026-05-04T23:16:08Z",
    from: "earendil-works/pi#4172",
  },
  {
    agent: "gemini",
    text: "You have exhausted your capacity on this model. Your quota will reset after 4h28m20s. (HTTP 429)",
    reset: "2026-03-10T19:28:20Z",
    from: "google-gemini/gemini-cli#25103",
  },
  {
    agent: "gemini",
    text: '✕ [API Error: [{ "error": { "code": 429, "message": "You have exhausted your capacity on this model. Your quota will reset after 8h44m7s.",',
    reset: "2026-03-10T23:44:07Z",
    from: "google-gemini/gemini-cli#13004",
  },
  {
    agent: "gemini",
    text: "✕ [API Error: You have exhausted your daily quota on this model.]",
    reset: null,
    from: "google-gemini/gemini-cli#15576",
  },
  {
    agent: "gemini",
    text: '    "code": 429,\n    "message": "Resource has been exhausted (e.g. check quota).",\n    "status": "RESOURCE_EXHAUSTED"',
    reset: null,
    from: "google-gemini/gemini-cli#14889",
  },
  {
    agent: "qwen",
    text: "✕ Qwen OAuth quota exceeded: Your free daily quota has been reached.\n\n  To continue using Qwen Code without waiting, upgrade to the Alibaba Cloud Coding Plan:",
    reset: null,
    from: "QwenLM/qwen-code#3267",
  },
  {
    agent: "qwen",
    text: "429 Free allocated quota exceeded.",
    reset: null,
    from: "QwenLM/qwen-code#1742",
  },
  {
    agent: "qwen",
    text: "✕ [API Error: 429 status code (no body)]",
    reset: null,
    from: "QwenLM/qwen-code#882",
  },
  {
    agent: "cursor-agent",
    text: "Error: You've hit your usage limit\n  Get Cursor Pro for more Agent usage, unlimited Tab, and more.\n  fallbackModel: \n  spendLimitHit: false\n  chatMessage: *You've hit your free requests limit. Your usage limits will reset when your monthly cycle ends on 11/17/2025.*",
    reset: null,
    from: "cursor/cursor#3703",
  },
  {
    agent: "aider",
    text: "The API provider has rate limited you. Try again later or check\nyour quotas.\nRetrying in 0.2 seconds...",
    reset: "2026-03-10T15:00:00.200Z",
    from: "Aider-AI/aider#2491",
  },
  {
    agent: "aider",
    text: 'litellm.RateLimitError: litellm.RateLimitError: VertexAIException - {\n  "error": {\n    "code": 429,\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}',
    reset: null,
    from: "Aider-AI/aider#1923",
  },
];

export interface JsonSample extends Omit<Sample, "text"> {
  command: string[];
  lines: string[];
}

export const jsonSamples: JsonSample[] = [
  {
    agent: "claude",
    command: ["claude", "--print", "--output-format", "stream-json", "--verbose"],
    lines: [
      '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1778565600,"rateLimitType":"five_hour","overageStatus":"rejected","overageDisabledReason":"org_level_disabled_until","isUsingOverage":false}}',
      `{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit · resets 2pm (Asia/Shanghai)"}`,
    ],
    at: "2026-05-12T03:00:00Z",
    reset: "2026-05-12T06:00:00Z",
    from: "paperclipai/paperclip#5776",
  },
  {
    agent: "codex",
    command: ["codex", "exec", "--json", "-"],
    lines: [
      '{"type":"turn.started"}',
      `{"type":"error","message":"You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM."}`,
      `{"type":"turn.failed","error":{"message":"You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM."}}`,
    ],
    at: "2025-11-12T16:47:04Z",
    reset: "2025-11-12T17:16:00Z",
    from: "link-assistant/hive-mind#719",
  },
];

export interface UsageSample {
  command: string[];
  text: string;
  usage: { usd?: number; inputTokens?: number; outputTokens?: number; model?: string } | null;
  from: string;
}

export const usageSamples: UsageSample[] = [
  {
    command: ["claude", "--print", "--output-format", "json"],
    text: '{"type":"result","subtype":"error_during_execution","duration_ms":185041,"duration_api_ms":184154,"is_error":false,"num_turns":0,"session_id":"x","total_cost_usd":0.6571631500000001,"usage":{"input_tokens":112,"cache_creation_input_tokens":58211,"cache_read_input_tokens":1120129,"output_tokens":6814,"server_tool_use":{"web_search_requests":0},"service_tier":"standard"}}',
    usage: { usd: 0.6571631500000001, inputTokens: 1178452, outputTokens: 6814 },
    from: "anthropics/claude-code-action#366",
  },
  {
    command: ["codex", "exec", "--json", "-"],
    text: '{"type":"thread.started","thread_id":"x"}\n{"type":"turn.started"}\n{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122}}\n',
    usage: { inputTokens: 24763, outputTokens: 122 },
    from: "openai/codex docs/exec.md",
  },
  {
    command: ["gemini", "--output-format", "json"],
    text: JSON.stringify(
      {
        response: "The main AI-generated content",
        stats: {
          models: {
            "gemini-2.5-pro": {
              api: { totalRequests: 2, totalErrors: 0, totalLatencyMs: 5053 },
              tokens: { prompt: 24939, candidates: 20, total: 25113, cached: 21263, thoughts: 154, tool: 0 },
            },
          },
        },
      },
      null,
      2,
    ),
    usage: { inputTokens: 24939, outputTokens: 174, model: "gemini-2.5-pro" },
    from: "google-gemini/gemini-cli docs/cli/headless.md",
  },
  {
    command: ["gemini", "--output-format", "stream-json"],
    text: '{"type":"result","timestamp":"2025-10-10T12:00:00Z","status":"success","stats":{"total_tokens":250,"input_tokens":50,"output_tokens":200,"cached":0,"input":50,"duration_ms":3000,"tool_calls":1}}\n',
    usage: { inputTokens: 50, outputTokens: 200 },
    from: "google-gemini/gemini-cli packages/core/src/output/types.ts",
  },
  {
    command: ["opencode", "run", "--format", "json"],
    text: '{"type":"step_start","timestamp":1758919896305,"part":{"type":"step-start"}}\n{"type":"step_finish","timestamp":1758919898483,"part":{"type":"step-finish","tokens":{"input":11087,"output":145,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.0070147}}\n',
    usage: { usd: 0.0070147, inputTokens: 11087, outputTokens: 145 },
    from: "anomalyco/opencode#2810",
  },
  {
    command: ["cursor-agent", "--print", "--output-format", "json"],
    text: '{"type":"result","subtype":"success","is_error":false,"duration_ms":1234,"duration_api_ms":1234,"result":"result result result","session_id":"x","request_id":""}',
    usage: null,
    from: "forum.cursor.com/t/156872",
  },
];
