/** The walls around agents' commands in a container, on a real kernel: as the image runs, without any capability. */

import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { ROOT } from "../../../../scripts/lib/paths.js";
import { docker } from "../../../support/docker/containers.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../../support/docker/images.ts";

/** Asks the shell tool to run each command, and prints what it answers. */
const PROGRAM = `
  const { createShellTool } = await import("/opt/cairn/runtime/plugins/tools/shell/index.ts");
  const { SHELL_DEFAULTS } = await import("/opt/cairn/runtime/plugins/tools/shell/settings.ts");
  const { createWorkspaceGate } = await import("/opt/cairn/runtime/plugins/tools/shared/locate.ts");
  const { mkdirSync, writeFileSync } = await import("node:fs");
  const home = "/var/lib/cairn";
  mkdirSync("/srv/cairn/workspace");
  mkdirSync("/srv/cairn/agents");
  writeFileSync(home + "/node.key", "the node's key");
  writeFileSync("/etc/cairn/.env", "SERVICE_API_TOKEN=the owner's token");
  writeFileSync("/srv/cairn/agents/other.md", "another agent's file");
  process.env.IN_MEMORY = "a value of the service";
  const say = () => {};
  const logger = { debug: say, info: say, warn: (o, m) => console.error(m), error: say, child: () => logger };
  const tool = createShellTool({
    gate: createWorkspaceGate({ protectedPaths: [home] }),
    settings: { ...SHELL_DEFAULTS, bubblewrapPaths: [] },
    container: true,
    protectedPaths: [home, "/etc/cairn/.env"],
    hostEnv: process.env,
    newId: () => "mark",
    logger,
  });
  const ann = home + "/workspaces/main/ann";
  for (const user of ["ann", "bob"]) mkdirSync(home + "/workspaces/main/" + user, { recursive: true });
  writeFileSync(home + "/workspaces/main/bob/notes.md", "another user's file");
  writeFileSync("/srv/cairn/workspace/USER.md", "the owner's file");
  writeFileSync("/tmp/owner.txt", "a temporary file of the owner's");
  const [commands, owner] = JSON.parse(process.argv[1]);
  const workspace = owner ? "/srv/cairn/workspace" : ann;
  const results = [];
  for (const command of commands) {
    results.push(await tool.execute({ command }, undefined, { workspace, agent: "main", owner }));
  }
  const { createPromptBuilder } = await import("/opt/cairn/runtime/app/turn/prompt.ts");
  const refused = [];
  const prompts = createPromptBuilder({ logger: { warn: ({ path }) => refused.push(path) } });
  const prompt = await prompts.build("main", "/srv/cairn/workspace", "2026-01-02", "owner");
  console.log(JSON.stringify({ results, prompt, refused }));
`;

let image: string;
beforeAll(async () => {
  image = (await ensureTestImages()).node;
}, IMAGES_TIMEOUT_MS);

interface Outcome {
  readonly results: readonly { readonly content: string }[];
  /** What the service itself then takes from the workspace for a prompt, and which files it refuses. */
  readonly prompt: string;
  readonly refused: readonly string[];
}

async function commandsInContainer(owner: boolean, ...commands: readonly string[]): Promise<Outcome> {
  const mount = (folder: string) => ["--volume", `${join(ROOT, folder)}:/opt/cairn/${folder}:ro`];
  const output = await docker(
    ...["run", "--rm", "--user", "1000:0", "--read-only", "--cap-drop", "ALL", "--entrypoint", "node"],
    ...["--security-opt", "no-new-privileges", "--tmpfs", "/tmp:exec", "--network", "none"],
    ...["/etc/cairn", "/var/lib/cairn", "/srv/cairn"].flatMap((path) => [
      "--tmpfs",
      `${path}:uid=1000,gid=0,mode=0770`,
    ]),
    ...[...mount("runtime"), ...mount("node_modules"), ...mount("package.json")],
    ...[image, "--no-warnings", "--input-type=module", "--eval", PROGRAM, JSON.stringify([commands, owner])],
  );
  return JSON.parse(output.split("\n").at(-1) ?? "");
}

it("keep commands from the service's files and processes, and let them work", { timeout: 120_000 }, async () => {
  const { results } = await commandsInContainer(
    true,
    "cat /var/lib/cairn/node.key",
    "ls /etc/cairn; cat /etc/cairn/.env",
    "cat /srv/cairn/agents/other.md",
    "cat /proc/$PPID/environ | tr '\\0' '\\n' | grep IN_MEMORY; cat /proc/1/environ | grep -c IN_MEMORY",
    "echo kept > notes.md && mkdir -p a/b && mv notes.md a/b/ && cat a/b/notes.md && rm -r a",
    "date > /tmp/x && cat /tmp/x > /dev/null && (sleep 0.01 & wait) && node -p '6*7' && id -u",
    "sh -c 'cat /var/lib/cairn/node.key' ; python3 -c 'print(1)' 2>/dev/null; ln -s /var/lib/cairn/node.key link; cat link",
  );
  const [key, configuration, other, memory, work, system, around] = results.map(({ content }) => content);
  for (const refused of [key, configuration, other]) expect(refused).toMatch(/Permission denied|cannot open/);
  for (const one of results) {
    expect(one.content).not.toContain("the node's key");
    expect(one.content).not.toContain("another agent's file");
    expect(one.content).not.toContain("a value of the service");
  }
  expect(memory).toContain("Permission denied");
  expect(work).toBe("exit code: 0\nkept");
  expect(system).toBe("exit code: 0\n42\n1000");
  expect(around).toContain("Permission denied");
});

it("keep the service from following links that a command has made", { timeout: 120_000 }, async () => {
  const workspace = "/srv/cairn/workspace";
  const { results, prompt, refused } = await commandsInContainer(
    true,
    "ln -s /etc/cairn/.env CORE.md && ln -s /var/lib/cairn/node.key SOUL.md && ln -sf /proc/self/environ USER.md && echo made",
    "ln -s /srv/cairn/agents/other.md TOOLS.md; mkdir notes; ln -s /srv/cairn/agents memory; mkfifo AGENTS.md; echo made",
    "echo text > a && ln a IDENTITY.md; ln -s /dev/zero WORKSPACE.md; truncate -s 10G MEMORY.md; echo made",
    "ln /etc/cairn/.env CAPABILITIES.md || ln -s /etc/cairn/.env CAPABILITIES.md",
  );
  for (const { content } of results.slice(0, 3)) expect(content).toContain("made");
  expect(prompt).not.toMatch(
    /the node's key|the owner's token|another agent's file|a value of the service|IN_MEMORY|<file/,
  );
  const names = "CORE SOUL IDENTITY USER AGENTS TOOLS WORKSPACE MEMORY CAPABILITIES".split(" ");
  const paths = names.map((name) => `${workspace}/${name}.md`);
  expect(refused.filter((path) => !path.includes("/memory/")).sort()).toEqual(paths.sort());
});

it("keep another user's commands in that user's workspace", { timeout: 120_000 }, async () => {
  const { results } = await commandsInContainer(
    false,
    'echo mine > notes.md && cat notes.md && pwd && mktemp && echo "$HOME"',
    "cat ../bob/notes.md",
    "ls ..",
    "cat /var/lib/cairn/node.key",
    "cat /srv/cairn/workspace/USER.md",
    "echo planted >> /srv/cairn/workspace/AGENTS.md",
    "cat /tmp/owner.txt",
    "echo planted > /tmp/planted",
    "ln -s ../bob/notes.md link; cat link",
  );
  const [pwd, ...refused] = results;
  const ann = "/var/lib/cairn/workspaces/main/ann";
  expect(pwd?.content).toMatch(new RegExp(`^exit code: 0\\nmine\\n${ann}\\n${ann}/tmp\\.\\w+\\n${ann}$`));
  for (const one of refused) expect(one.content).toMatch(/^exit code: [1-9][\s\S]*(Permission denied|cannot open)/);
});
