// What needs a human: questions first, then reviews, held landings and failures, then every notification.

import "./inbox.css";
import { LoadError } from "../../components/load-error.js";
import { useNow } from "../../data/live.js";
import { usePlace } from "../../router.js";
import { Failures } from "./failures.js";
import { Holds } from "./holds.js";
import { useItemSteps } from "./item-keys.js";
import { Notifications } from "./notifications.js";
import { Questions } from "./questions.js";
import { Reviews } from "./reviews.js";
import { useInbox } from "./use-inbox.js";

export function Inbox() {
  const { project } = usePlace();
  const now = useNow(5_000);
  const { live, more } = useInbox(project);
  const isAllProjects = project === "*";
  useItemSteps();
  return (
    <div className="inbox">
      <h1>Inbox</h1>
      <LoadError live={live} />
      {live.data && (
        <>
          <Questions
            questions={live.data.questions}
            hasMore={live.data.hasMoreQuestions}
            onMore={more}
            isAllProjects={isAllProjects}
            now={now}
          />
          <Reviews
            reviews={live.data.reviews}
            hasMore={live.data.hasMoreReviews}
            onMore={more}
            isAllProjects={isAllProjects}
            now={now}
          />
          <Holds
            holds={live.data.holds}
            hasMore={live.data.hasMoreReviews}
            isAllProjects={isAllProjects}
            now={now}
          />
          <Failures
            failures={live.data.failures}
            hasMore={live.data.hasMoreFailures}
            onMore={more}
            isAllProjects={isAllProjects}
            now={now}
          />
        </>
      )}
      <Notifications key={project} project={project} now={now} />
    </div>
  );
}
