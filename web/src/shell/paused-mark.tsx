// That a project is paused: its tasks look as if they could be had, and nobody gets one. In the bar, wherever one is.

import { useState } from "react";
import { Badge, CopyText, Dialog } from "../components/parts.js";
import { useProjects } from "../data/projects.js";
import { usePlace } from "../router.js";

export function PausedMark() {
  const { project } = usePlace();
  const [isOpen, setOpen] = useState(false);
  const paused = (useProjects() ?? []).filter(
    ({ id, paused }) => paused && (project === "*" || project === id),
  );
  if (paused.length === 0) return null;
  return (
    <>
      <button
        type="button"
        className="plain"
        title={`Paused: ${paused.map(({ id }) => id).join(", ")}`}
        onClick={() => setOpen(true)}
      >
        <Badge tone="wait">paused</Badge>
      </button>
      {isOpen && (
        <Dialog title="Paused" onClose={() => setOpen(false)}>
          <div className="stack">
            {paused.map(({ id }) => (
              <div key={id} className="stack">
                <p className="wraps">No task of {id} can be claimed. Running tasks continue.</p>
                <CopyText text={`dibs project resume ${id}`} label={`how to resume ${id}`} />
              </div>
            ))}
            <div className="actions">
              <button type="button" onClick={() => setOpen(false)}>
                Close
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
