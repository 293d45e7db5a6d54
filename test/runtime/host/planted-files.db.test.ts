/**
 * The attack as it was made: a command of an agent puts links in the place of files that the service reads, and the next
 * message is answered by a provider that keeps what it is sent. The whole node, its real shell tool, in each sandbox.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory } from "../../support/deployment.ts";
import { OWNER_ENV, OWNER_TOKEN, startedHost } from "../../support/started-host.ts";

const NAMES = "CORE SOUL IDENTITY USER AGENTS TOOLS WORKSPACE MEMORY CAPABILITIES"
  .split(" ")
  .map((name) => `${name}.md`);

/** A node whose model runs the message as a command when it begins with `$`; and all that the model was sent. */
async function nodeWith(sandbox: "bubblewrap" | "none") {
  const requests: string[] = [];
  const fake = await startOpenAiFake({
    script: ({ lastUser, step, system, texts, results }) => {
      requests.push(JSON.stringify([system, texts, results]));
      if (!lastUser.startsWith("$ ") || step > 0) return { text: "Done." };
      return { toolCalls: [{ id: "c1", name: "shell", arguments: { command: lastUser.slice(2) } }] };
    },
  });
  onTestFinished(() => fake.close());
  const dir = await deploymentDirectory({
    yaml: `version: 1
runtime: { safety: { shell_danger: false } }
agents: { main: { provider: model }, other: { provider: model, workspace: others } }
providers: { model: { kind: openai-compatible, base_url: "${fake.baseUrl}", model: fake, api_key: none-of-yours-0123 } }
tools: { shell: { sandbox: ${sandbox} } }
`,
    env: `${OWNER_ENV}REFERRED='value'\n`,
  });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  await mkdir(join(dir, "workspace"));
  await mkdir(join(dir, "others"));
  await writeFile(join(dir, "others", "notes.md"), "the other agent's notes");
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const { request } = await startedHost({ dir, logger });
  const say = async (text: string) => {
    const response = await request("/api/agents/main/messages", { session: "attack", text });
    expect(response.status).toBe(200);
  };
  return { dir, requests, lines, say };
}

const SANDBOXES = lacks("bubblewrap") === undefined ? (["bubblewrap", "none"] as const) : (["none"] as const);

describe.each(SANDBOXES)("with the sandbox %s", (sandbox) => {
  it.each([
    ["symbolic links", "ln -s"],
    ["hard links", "ln"],
  ])("%s in the place of all that the service reads bring nothing to the provider", async (_, ln) => {
    const { dir, requests, lines, say } = await nodeWith(sandbox);
    const targets = [".env", "home/node.key", "cairn.yaml", "others/notes.md"];
    const key = await readFile(join(dir, "home", "node.key"), "utf8");
    await writeFile(join(dir, "workspace", "SOUL.md"), "an honest file");
    for (const target of targets) {
      const links = NAMES.map((name) => `rm -f ${name}; ${ln} '${join(dir, target)}' ${name}`);
      const notes = `d=$(date -u +%F); rm -rf memory; ln -s '${dir}' memory; ln -s '${join(dir, target)}' "$d.md"`;
      await say(`$ ${[...links, notes].join("; ")}; echo planted`);
      requests.length = 0;
      await say("hello");
      expect(requests).toHaveLength(1);
      const [sent = ""] = requests;
      for (const secret of [
        OWNER_TOKEN,
        key.trim(),
        "none-of-yours",
        "the other agent's notes",
        "REFERRED",
        "openai-compatible",
      ])
        expect(sent).not.toContain(secret);
      for (const name of NAMES) expect(sent).not.toContain(`<file name=\\"${name}\\"`);
    }
    const warned = lines.filter((line) => line.includes("left out of the prompt"));
    expect(lines.join("")).not.toContain(OWNER_TOKEN);
    // Where a hard link cannot be made nothing stands there, and there is nothing to warn of.
    if (ln === "ln -s" || sandbox === "none") expect(warned.length).toBeGreaterThanOrEqual(NAMES.length);
  });
});

it("a token that a command or a file shows is not sent on", async () => {
  const { dir, requests, say } = await nodeWith("none");
  await writeFile(join(dir, "workspace", "CORE.md"), `remember: ${OWNER_TOKEN}`);
  await say(`$ cat '${join(dir, ".env")}'`);
  await say(`what does ${OWNER_TOKEN} open?`);
  expect(requests).toHaveLength(3);
  expect(requests[1]).toContain("SERVICE_API_TOKEN='[redacted]'");
  expect(requests[2]).toContain("remember: [redacted]");
  expect(requests.join("")).not.toContain(OWNER_TOKEN);
});
