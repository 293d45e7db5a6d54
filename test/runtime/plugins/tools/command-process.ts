/** Runs commands by the shell tool of a service process of its own: another user, with descriptors that its launcher left open. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import type { ShellSettings } from "../../../../runtime/plugins/tools/shell/settings.ts";
import { ROOT } from "../../../../scripts/lib/paths.js";

export interface CommandResult {
  readonly content: string;
}

export interface CommandAnswers {
  readonly results: readonly CommandResult[];
  /** What the service wrote to its log as warnings. */
  readonly warnings: string;
  readonly workspace: string;
}

interface ServiceOptions {
  readonly launcher?: string;
  readonly asRoot?: boolean;
  readonly dies?: "at once" | "behind it";
  /** Behind the commands one more for each: so many files can still be opened then. */
  readonly freeDescriptors?: readonly number[];
}

const NOBODY = 65_534;

const PROGRAM = `
  import processes from "node:child_process";
  import { closeSync, openSync } from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { base, settings, commands, dies, freeDescriptors } = JSON.parse(process.argv[1]);
  if (dies) {
    const { spawn } = processes;
    const die = () => process.kill(process.pid, "SIGKILL");
    processes.spawn = (file, args, options) => {
      const child = spawn(file, args, options);
      if (args.includes(commands[0])) dies === "at once" ? die() : setImmediate(die);
      return child;
    };
    syncBuiltinESMExports();
  }
  const folder = ${JSON.stringify(join(ROOT, "runtime/plugins/tools"))};
  const { createShellTool } = await import(folder + "/shell/index.ts");
  const { SHELL_DEFAULTS } = await import(folder + "/shell/settings.ts");
  const { createWorkspaceGate } = await import(folder + "/shared/locate.ts");
  const say = () => {};
  const logger = { debug: say, info: say, warn: (_, text) => console.error(text), error: say, child: () => logger };
  let calls = 0;
  const tool = createShellTool({
    gate: createWorkspaceGate({ protectedPaths: [] }),
    settings: { ...SHELL_DEFAULTS, ...settings },
    container: false,
    protectedPaths: [base + "/home"],
    stateDirectory: base + "/home",
    hostEnv: process.env,
    newId: () => process.pid + "-" + (calls += 1),
    logger,
  });
  const results = [];
  const context = { workspace: base + "/ws", agent: "main", owner: true };
  const run = (command) => tool.execute({ command, timeout_s: 60 }, undefined, context);
  for (const command of commands) results.push(await run(command));
  for (const free of freeDescriptors) {
    const opened = [];
    try {
      for (;;) opened.push(openSync("/dev/null"));
    } catch {
      // All are taken.
    }
    for (const descriptor of opened.splice(opened.length - free)) closeSync(descriptor);
    results.push(await run("echo started").catch(({ code }) => ({ content: code })));
    for (const descriptor of opened) closeSync(descriptor);
  }
  console.log(JSON.stringify(results));
`;

/** A service that is killed in the instant in which the system has started its command, or just behind it. */
export async function serviceKilledAtStart(
  settings: Partial<ShellSettings>,
  command: string,
  dies: "at once" | "behind it",
): Promise<void> {
  const { child } = await serviceProcess(settings, [command], { dies });
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
}

/** `launcher`: a shell script that starts the service by \`exec "$@"\`; root's tests run as nobody unless told otherwise. */
export async function commandsOfService(
  settings: Partial<ShellSettings>,
  commands: readonly string[],
  options: ServiceOptions = {},
): Promise<CommandAnswers> {
  const { child, workspace } = await serviceProcess(settings, commands, options);
  const [output, warnings] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  if (child.exitCode !== 0) throw new Error(`The service ended with ${child.exitCode}: ${warnings}`);
  return { results: JSON.parse(output), warnings, workspace };
}

async function serviceProcess(
  settings: Partial<ShellSettings>,
  commands: readonly string[],
  { launcher = 'exec "$@"', asRoot = false, dies, freeDescriptors = [] }: ServiceOptions,
) {
  const base = await realpath(await mkdtemp(join(tmpdir(), "cairn-command-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = join(base, "ws");
  const drop = process.getuid?.() === 0 && !asRoot;
  for (const path of [base, workspace, join(base, "home")]) {
    await mkdir(path, { recursive: true });
    await chmod(path, 0o700);
    if (drop) await chown(path, NOBODY, NOBODY);
  }
  const input = JSON.stringify({ base, settings, commands, dies, freeDescriptors });
  const node = [process.execPath, "--no-warnings", "--input-type=module", "--eval", PROGRAM, input];
  const child = spawn("/bin/bash", ["-c", launcher, "launcher", ...node], {
    cwd: base,
    env: { PATH: process.env["PATH"], HOME: join(base, "home") },
    stdio: ["ignore", "pipe", "pipe"],
    ...(drop ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  return { child, workspace };
}
