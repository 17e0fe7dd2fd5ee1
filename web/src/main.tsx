import "./styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { learnRole } from "./data/me.js";
import { signInByLink } from "./data/sign-in.js";
import { stream } from "./data/stream.js";
import { applyTheme } from "./theme.js";

applyTheme();
const refused = await signInByLink();
await Promise.all([learnRole(), stream.begin()]);
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App refused={refused} />
  </StrictMode>,
);
