/** Skills in turns: hooks that refuse them, other users, and folders that are changed in the middle of a turn. */

import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { createHookPipeline } from "../../../../runtime/app/hooks.ts";
import { createSkillLibrary } from "../../../../runtime/app/skills/library.ts";
import { createSkillUse } from "../../../../runtime/app/skills/skill-use.ts";
import { ToolError } from "../../../../runtime/contracts/errors.ts";
import type { AnyHook } from "../../../../runtime/contracts/hooks.ts";
import { createSkillListTool } from "../../../../runtime/plugins/tools/skill-list/index.ts";
import { describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { writeSkill } from "../../../support/skills.ts";
import { end, type Harness, type HarnessOptions, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

describeEachDatabase("skills in a turn", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });

  /** A message `{...}` is a call of the tool with these arguments, and the reply is its result. */
  const script: HarnessOptions["script"] = ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return [text(String(last.content)), end()];
    const said = String(last?.content);
    if (!said.startsWith("{")) return [text("Hello."), end()];
    return [toolCall("c", "skill_list", JSON.parse(said)), end("tool_calls")];
  };

  async function start(hooks: readonly AnyHook[] = [], options: Partial<HarnessOptions> = {}) {
    const base = await realpath(await mkdtemp(join(tmpdir(), "cairn-skills-")));
    onTestFinished(() => rm(base, { recursive: true, force: true }));
    const [shared, workspace] = [join(base, "shared"), join(base, "workspace")];
    await mkdir(shared);
    await mkdir(join(workspace, "skills"), { recursive: true });
    const library = createSkillLibrary({ skillDirs: [shared], workspaces: [workspace], logger: quietLogger });
    const pipeline = createHookPipeline(hooks, quietLogger);
    const skills = createSkillUse({ library, hooks: () => pipeline, logger: quietLogger });
    const harness = await startHarness({
      database: await open(),
      script,
      skills,
      tools: [createSkillListTool({ skills })],
      ...options,
      agent: { workspace, workspacesOfOthers: join(base, "others"), ...options.agent },
    });
    running.push(harness);
    const shown = () => {
      const request = harness.requests.at(-1)?.options;
      return { system: request?.system ?? "", retrieved: request?.retrieved ?? "" };
    };
    return { base, harness, shared, workspace, own: join(workspace, "skills"), shown };
  }

  const hook = (event: "skill:before" | "skill:after", run: (skill: string) => void): AnyHook => ({
    name: `test of ${event}`,
    event,
    priority: 50,
    run: async (context) => run(context.skill),
  });

  it("are refused by a hook, by a trigger, by their name and by a file, and that is said", async () => {
    const after: string[] = [];
    const refusing = hook("skill:before", (skill) => {
      if (skill === "ship") throw new ToolError("TOOL_REFUSED", "not on a Friday.");
      if (skill === "leak") throw new Error("the-secret of the hook");
    });
    const { harness, shared, shown } = await start([refusing, hook("skill:after", (skill) => after.push(skill))]);
    await writeSkill(shared, "ship", {
      triggers: ["release"],
      body: "Tag it.",
      files: { "references/a.md": "Tag it." },
    });
    await writeSkill(shared, "leak", { triggers: ["release"], body: "Tag it." });
    await writeSkill(shared, "test", { triggers: ["release"], body: "Test it." });
    await harness.say("Make a release");
    expect(shown().retrieved).toContain('The skill "ship" may not be used: not on a Friday.');
    expect(shown().retrieved).toContain('The skill "leak" may not be used: a hook failed');
    expect(shown().retrieved).toContain("Test it.");
    const results = [
      await harness.say('{"name":"ship"}'),
      await harness.say('{"name":"ship","file":"references/a.md"}'),
    ];
    for (const { text: reply } of results) expect(reply).toContain('TOOL_REFUSED: The skill "ship" may not be used');
    expect(JSON.stringify([harness.requests, results])).not.toMatch(/Tag it|the-secret/);
    expect(after).toEqual(["test"]);
  });

  it("of a workspace are the owner's, and those of skill_dirs are others', too, where they have the tool", async () => {
    const tools = { others: { include: ["skill_list"] } };
    const workspaces: string[] = [];
    const seeing: AnyHook = {
      name: "test of the workspace",
      event: "skill:before",
      priority: 50,
      run: async ({ workspace }) => void workspaces.push(workspace),
    };
    const { harness, shared, own, shown } = await start([seeing], { agent: { tools } });
    await writeSkill(shared, "shared", { triggers: ["go"] });
    await writeSkill(own, "private", { triggers: ["go"] });
    const other = { owner: false, address: { channel: "c", conversation: "x", user: "eve" } };
    // What a user puts into a workspace of theirs is no skill.
    await harness.say("go", other);
    await writeSkill(join(workspaces.at(-1) ?? "", "skills"), "planted");
    await harness.say("go");
    expect(shown().system).toContain("- private:");
    expect(shown().retrieved).toContain("Steps of private.");
    await harness.say("go", other);
    expect(shown().system).toContain("- shared:");
    expect(shown().system).not.toMatch(/- private:|- planted:/);
    expect(shown().retrieved).toContain("Steps of shared.");
    expect(shown().retrieved).not.toContain("private");
    expect((await harness.say('{"name":"private"}', other)).text).toContain(
      'There is no skill "private". Skills: shared.',
    );
  });

  it("are not there for a turn without the tool", async () => {
    const { harness, shared, shown } = await start();
    await writeSkill(shared, "shared", { triggers: ["go"] });
    await harness.say("go", { owner: false, address: { channel: "c", conversation: "x", user: "eve" } });
    expect(JSON.stringify(shown())).not.toContain("shared");
  });

  it("that go, or become a link, in the middle of a turn are not read", async () => {
    const { base, harness, own } = await start([], {
      script: async (request, call) => {
        if (call === 1) await rm(join(own, "gone"), { recursive: true });
        if (call === 3) {
          await rm(join(own, "notes"), { recursive: true });
          await symlink(join(base, "outside", "notes"), join(own, "notes"));
        }
        const last = request.messages.at(-1);
        if (last?.role === "tool") return [text(String(last.content)), end()];
        return [toolCall("c", "skill_list", JSON.parse(String(last?.content))), end("tool_calls")];
      },
    });
    await writeSkill(join(base, "outside"), "notes", { body: "the-secret" });
    await writeSkill(own, "gone");
    await writeSkill(own, "notes");
    expect((await harness.say('{"name":"gone"}')).text).toContain('There is no skill "gone". Skills: notes.');
    expect((await harness.say('{"name":"notes"}')).text).toContain('There is no skill "notes". There are none.');
    expect(JSON.stringify(harness.requests)).not.toContain("the-secret");
  });

  it("are bounded in the prompt: a long list is cut, and of many triggers three are followed", async () => {
    const { harness, shared, shown } = await start();
    for (let n = 10; n < 99; n++) {
      await writeSkill(shared, `s${n}`, { description: "d".repeat(1_000), triggers: ["go"], body: `Steps ${n}.` });
    }
    await harness.say("go");
    const { system, retrieved } = shown();
    expect(system.length).toBeLessThan(14_000);
    expect(system).toMatch(/- s10: d{160}\.\.\./);
    expect(system).toMatch(/\(\d+ more skills, whose names are after these\)/);
    expect(retrieved).toContain("Steps 12.");
    expect(retrieved).not.toContain("Steps 13.");
    expect(retrieved).toContain("The message calls for these skills, too: s13, s14,");
  });
});
