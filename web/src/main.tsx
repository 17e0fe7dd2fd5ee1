import "./styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { signInByLink } from "./data/sign-in.js";
import { applyTheme } from "./theme.js";

applyTheme();
const refused = await signInByLink();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App refused={refused} />
  </StrictMode>,
);
