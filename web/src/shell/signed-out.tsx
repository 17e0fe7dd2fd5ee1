import type { Refused } from "../data/sign-in.js";

const usual: Refused = {
  message: "You are not signed in.",
  hint: "Open the link that `dibs serve` prints when it starts, or ask for a fresh one: `dibs token link`. The link works once; this browser then stays signed in.",
};

export function SignedOut({ refused }: { refused: Refused | null }) {
  const { message, hint } = refused ?? usual;
  return (
    <main className="view signed-out">
      <div className="panel stack">
        <h1>Not signed in</h1>
        <p>
          <WithCode text={message} />
        </p>
        {hint && (
          <p className="quiet">
            <WithCode text={hint} />
          </p>
        )}
      </div>
    </main>
  );
}

/** What stands between backticks is what one types. */
function WithCode({ text }: { text: string }) {
  return text.split("`").map((part, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name.
    at % 2 === 1 ? <code key={at}>{part}</code> : part,
  );
}
