// What is being typed. It shows at once, and is given out when the fingers rest.

import { useEffect, useRef, useState } from "react";

const restMs = 150;

interface Draft {
  draft: string;
  type: (text: string) => void;
  /** Now, not when the fingers rest. */
  send: (text: string) => void;
}

/** What is being typed; what comes from outside replaces it, but not what we sent ourselves a moment ago. */
export function useDraft(text: string, onText: (text: string) => void): Draft {
  const [draft, setDraft] = useState(text);
  const sent = useRef(text);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (text === sent.current) return;
    clearTimeout(timer.current);
    sent.current = text;
    setDraft(text);
  }, [text]);
  const send = (next: string) => {
    clearTimeout(timer.current);
    sent.current = next.trim();
    onText(sent.current);
  };
  const type = (next: string) => {
    setDraft(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => send(next), restMs);
  };
  return { draft, type, send };
}
