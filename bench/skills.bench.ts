/** What skills cost a turn: the list for its prompt and the triggers of its message, also of one that holds many of their words. */

import { createHookPipeline } from "../runtime/app/hooks.ts";
import { createSkillLibrary } from "../runtime/app/skills/library.ts";
import { createSkillUse } from "../runtime/app/skills/skill-use.ts";
import { MAX_SKILL_FOLDERS } from "../runtime/contracts/skill.ts";
import { triggeredBy } from "../runtime/domain/skills/triggers.ts";
import { quietLogger } from "../test/support/quiet-logger.ts";
import { writeSkill } from "../test/support/skills.ts";
import type { Bench } from "./support/bench.ts";

/** Directories of skill_dirs, each with as many skills as are read. */
const DIRECTORIES = [1, 3];
/** As many as a skill may have. */
const TRIGGERS = 20;
const TIMES = 200;
const WARM_UP = 50;

const MESSAGES = {
  "a short message": "Say hello to everybody",
  "20,000 characters": "Tell me about the phrase and what comes of it. ".repeat(430),
} as const;

export const bench: Bench = {
  about: "the skills of one turn: their list, and the triggers that are in its message",
  async run(context) {
    const all: { readonly triggers: readonly string[] }[] = [];
    const skillDirs: string[] = [];
    for (let d = 0; d < Math.max(...DIRECTORIES); d++) {
      const directory = await context.folder();
      skillDirs.push(directory);
      for (let n = 0; n < MAX_SKILL_FOLDERS; n++) {
        const triggers = Array.from({ length: TRIGGERS }, (_, t) => `phrase ${d} of ${n} and ${t}`);
        await writeSkill(directory, `skill-${d}-${n}`, { triggers, description: "Does one thing well. ".repeat(15) });
        all.push({ triggers });
      }
    }
    context.begin();
    const turn = {
      turnId: "t",
      agent: "main",
      sessionKey: "main:agent:s1:",
      conversationId: "c",
      channel: "agent",
      user: "",
      owner: true,
      workspace: await context.folder(),
    };
    for (const directories of DIRECTORIES) {
      const count = directories * MAX_SKILL_FOLDERS;
      const dirs = skillDirs.slice(0, directories);
      const library = createSkillLibrary({ skillDirs: dirs, workspaces: [], logger: quietLogger });
      const hooks = createHookPipeline([], quietLogger);
      const use = createSkillUse({ library, hooks: () => hooks, logger: quietLogger });
      for (const [kind, message] of Object.entries(MESSAGES)) {
        await context.time(
          {
            name: `triggers of ${count} skills, ${kind}`,
            times: TIMES,
            warmUp: WARM_UP,
            goal: { of: "p50", atMost: 20 },
          },
          async () => {
            if (triggeredBy(message, all.slice(0, count)).length > 0) throw new Error("Nothing is called for.");
          },
        );
        await context.time({ name: `skills of a turn, ${count}, ${kind}`, times: TIMES, warmUp: WARM_UP }, async () => {
          const { list, triggered } = await use.prompt(message, turn, context.signal);
          if (list === "" || triggered !== "") throw new Error("The list is missing, or a skill was loaded.");
        });
      }
    }
  },
};
