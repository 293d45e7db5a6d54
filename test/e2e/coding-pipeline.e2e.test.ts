/** A node as it is deployed, whose agent edits a real git repository through the coding pipeline until its tests pass. */

import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { type FakeReply, startOpenAiFake } from "../fakes/openai/index.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { deploymentOf, killed, runningNode } from "../support/running-node.ts";

const run = promisify(execFile);
const WRONG = 'echo "$(( $1 - $2 ))"\n';
const RIGHT = 'echo "$(( $1 + $2 ))"\n';
const CHECK = '[ "$(sh add.sh 2 3)" = 5 ] || { echo "2 and 3 make $(sh add.sh 2 3)"; exit 1; }\n';

/** `edits`: what the stages that edit write, one after the other; `hold`: of these, the one that waits before its first reply. */
async function coder(
  edits: readonly string[],
  options: { readonly checks?: readonly string[]; readonly hold?: number } = {},
) {
  const editing: string[] = [];
  let isHeld = options.hold !== undefined;
  const model = await startOpenAiFake({
    script: ({ lastUser, step, results = [] }): FakeReply => {
      // What is found in memory comes before the message.
      const said = lastUser.split(/<\/memory [^>]*>\n+/).at(-1) ?? "";
      if (said.startsWith("You plan a change")) return { text: "Let add.sh add." };
      if (said.startsWith("You review a change")) return { text: "ACCEPT" };
      if (!said.startsWith("You make a change")) {
        if (results.length > 0) return { text: results.map(({ text }) => text).join("\n") };
        const args = { task: "Make add.sh add two numbers.", path: "app" };
        return { toolCalls: [{ id: "p", name: "coding_pipeline", arguments: args }] };
      }
      if (!editing.includes(said)) editing.push(said);
      const nth = editing.indexOf(said);
      if (step > 0) return { text: "edited" };
      const content = edits[nth] ?? "";
      const reply = { toolCalls: [{ id: `w${nth}`, name: "file_write", arguments: { path: "app/add.sh", content } }] };
      if (!isHeld || nth !== options.hold) return reply;
      isHeld = false;
      return { ...reply, hold: { gate: "edit" } };
    },
  });
  onTestFinished(() => model.close());
  const deployment = await deploymentOf({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model", ...(options.checks ? { checks: options.checks } : {}) } },
    },
  });
  const app = join(deployment.workspace, "app");
  await mkdir(app);
  const git = async (...args: string[]) =>
    (await run("git", ["-C", app, "-c", "user.name=a", "-c", "user.email=a@b", ...args])).stdout;
  await git("init", "-q", "-b", "main");
  await writeFile(join(app, "add.sh"), "echo 0\n");
  await writeFile(join(app, "check.sh"), CHECK);
  await writeFile(join(app, "Makefile"), "test:\n\t@sh check.sh\n");
  await git("add", "-A");
  await git("commit", "-q", "-m", "first");
  return { model, deployment, app, git, editing };
}

/** The turn's id; it goes on without a listener. */
async function begin(node: NodeProcess): Promise<string> {
  const response = await node.request("/api/agents/main/messages", {
    json: { session: "s", text: "Please." },
    headers: { accept: "text/event-stream", "content-type": "application/json" },
  });
  return response.headers.get("x-turn-id") ?? "";
}

const textOf = async (node: NodeProcess, turnId: string) =>
  (await node.call<{ readonly text?: string }>(`/api/agents/main/turns/${turnId}`)).text;

async function processes(word: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(word)).length;
}

it("mends in the second round what the check has found in the first, though the node is killed in between", async () => {
  const { model, deployment, app, git, editing } = await coder([WRONG, RIGHT], { hold: 1 });
  const node = await runningNode(deployment);
  const turnId = await begin(node);
  await expect.poll(() => editing.length).toBe(2);
  expect(editing[1]).toContain("2 and 3 make -1");
  await killed(node);
  model.release("edit");
  const next = await runningNode(deployment);
  await expect.poll(() => textOf(next, turnId)).toContain("The change is made");
  const said = await textOf(next, turnId);
  expect(said).toContain("Rounds: 2.");
  expect(said).toContain("make test: passed");
  expect(said).toMatch(/add\.sh \| 2 \+-/);
  await run("sh", ["check.sh"], { cwd: app });
  expect(await git("status", "--porcelain")).toBe(" M add.sh\n");
  expect(editing).toHaveLength(2);
});

it("leaves nothing of a check behind when the node is killed in it, and says that its outcome is unknown", async () => {
  const { deployment, app } = await coder([RIGHT], { checks: ["sleep 86420 & sleep 86420"] });
  const node = await runningNode(deployment);
  const turnId = await begin(node);
  // The check itself runs: its sandbox ends with the node once it has asked the kernel for that, its first act.
  await expect.poll(() => processes("sleep\u000086420")).toBe(2);
  await killed(node);
  await expect.poll(() => processes("86420")).toBe(0);
  const next = await runningNode(deployment);
  await expect.poll(() => textOf(next, turnId)).toContain("TOOL_OUTCOME_UNKNOWN");
  expect(await readFile(join(app, "add.sh"), "utf8")).toBe(RIGHT);
});
