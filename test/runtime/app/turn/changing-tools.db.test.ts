/** Tools come and go while a node runs: what a turn was offered, and what it may call. */

import { tmpdir } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { createSafetyHooks } from "../../../../runtime/plugins/hooks/safety/index.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/index.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { end, type HarnessOptions, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

function tool(name: string, execute: Tool["execute"] = async () => ({ content: `${name} ran` }), extra = {}): Tool {
  return { name, description: name, parameters: { type: "object" }, execute, ...extra };
}

describeDatabase("tools that change while a node runs", (open) => {
  async function start(options: Omit<HarnessOptions, "database">) {
    const harness = await startHarness({ database: await open(), ...options });
    onTestFinished(() => harness.stop());
    return harness;
  }

  it("work to the end of the turn that was offered them, and are unknown to the next", async () => {
    const harness = await start({
      script: (_request, call) => {
        const first = [toolCall(`c${call}`, "swap"), end("tool_calls")];
        return [first, [toolCall(`c${call}`, "gone"), end("tool_calls")], [text("Done."), end()]][(call - 1) % 3] ?? [];
      },
      tools: [
        tool("swap", async () => {
          if (harness.tools.unregister("gone")) harness.tools.register(tool("late"));
          return { content: "swapped" };
        }),
        tool("gone"),
      ],
    });
    await harness.say("first");
    await harness.say("second");
    const offered = harness.requests.map(({ options }) => options.tools?.map(({ name }) => name));
    expect(offered).toEqual([
      ["swap", "gone"],
      ["swap", "gone"],
      ["swap", "gone"],
      ["swap", "late"],
      ["swap", "late"],
      ["swap", "late"],
    ]);
    const results = (await harness.transcript()).filter((row) => row.tool_name === "gone");
    expect(results.map((row) => row.tool_result)).toEqual([
      "gone ran",
      'TOOL_UNKNOWN: There is no tool "gone". Known tools: swap, late.',
    ]);
  });

  it("are not all named where a call asks for one that is not there", async () => {
    const harness = await start({
      script: (_request, call) => (call === 1 ? [toolCall("c1", "none"), end("tool_calls")] : [text("Done."), end()]),
      tools: Array.from({ length: 1_000 }, (_, n) => tool(`t${n}`)),
    });
    await harness.say("go");
    const [row] = (await harness.transcript()).filter(({ tool_name }) => tool_name === "none");
    expect(row?.tool_result).toMatch(
      /^TOOL_UNKNOWN: There is no tool "none"\. Known tools: t0, t1, .*, t99 and 900 more\.$/,
    );
  });

  it("have their paths checked, whenever they came", async () => {
    const gate = createWorkspaceGate({ protectedPaths: [] });
    const auditFile = { append: async () => undefined, status: () => ({ failing: null, lost: 0 }) };
    const settings = { shell_danger: true, workspace_fence: true, audit: false, rules: [] };
    const harness = await start({
      script: (_request, call) =>
        call === 1 ? [toolCall("c1", "late", { where: "/etc/passwd" }), end("tool_calls")] : [text("Done."), end()],
      hooks: createSafetyHooks({ settings, gate, auditFile, redact: (value) => value, logger: quietLogger }),
      agent: { workspace: tmpdir() },
    });
    harness.tools.register(tool("late", async () => ({ content: "read" }), { pathArguments: ["where"] }));
    await harness.say("go");
    const [row] = (await harness.transcript()).filter(({ tool_name }) => tool_name === "late");
    expect(row?.tool_result).toMatch(/^TOOL_\w+: .*workspace/);
  });
});
