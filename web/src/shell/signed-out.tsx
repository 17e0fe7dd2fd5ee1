import type { Refused } from "../data/sign-in.js";

const usual: Refused = {
  message: "You are not signed in.",
  hint: "Open the link that `dibs serve` prints when it starts. It works once; after that this browser is known.",
};

export function SignedOut({ refused }: { refused: Refused | null }) {
  const { message, hint } = refused ?? usual;
  return (
    <main className="view signed-out">
      <div className="panel stack">
        <h1>Not signed in</h1>
        <p>{message}</p>
        {hint && <p className="quiet">{hint}</p>}
      </div>
    </main>
  );
}
