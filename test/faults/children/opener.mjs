// Opens a store when told, perhaps as another user, and says how that ended.

import { errorOf, input, openDibs, say, told } from "./kit.mjs";

const go = told("go");
if (input.uid !== undefined) {
  process.setgroups([]);
  process.setgid(input.uid);
  process.setuid(input.uid);
}
await say("ready");
await go;
try {
  const dibs = await openDibs({ path: input.path, url: input.url });
  const { project } = await dibs.projects.get();
  let wrote = null;
  try {
    wrote = (await dibs.tasks.create({ prompt: `by ${process.pid}` })).task.id;
    await say("opened", { project: project.id, isDefault: project.isDefault, wrote });
  } catch (error) {
    await say("refused", { while: "writing", error: errorOf(error) });
  }
  await dibs.close();
} catch (error) {
  await say("refused", { while: "opening", error: errorOf(error) });
}
process.exit(0);
