import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type CapturePlaces,
  captureStatus,
  installHarness,
  isUnused,
  uninstallHarness,
} from "../../../control/capture/install.ts";
import { renderInstall, renderUninstall } from "../../../control/capture/render.ts";
import { capturePaths, writeCaptureSettings } from "../../../runtime/client/hook/settings.ts";
import { until } from "../../support/eventually.ts";

/** A user whose home has a space and a quote in its name, with Cairn installed and a token written. */
async function user() {
  const directory = await mkdtemp(join(tmpdir(), "cairn-install-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const userHome = join(directory, "Ada's home");
  const home = join(userHome, ".cairn");
  await writeCaptureSettings(
    home,
    { version: 1, base_url: "http://127.0.0.1:1", local: true, token_id: "t" },
    "cairn_secret",
  );
  const script = join(directory, "cairn-capture.mjs");
  const places: CapturePlaces = {
    home,
    script,
    node: process.execPath,
    machine: { env: {}, userHome },
    stamp: "20260810T120000Z",
  };
  return { userHome, home, places, script, paths: capturePaths(home) };
}

const same = (text: string): string => text;
const MARK = { title: same, good: same, warn: same, error: same, dim: same, name: same };

const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe("capture install", () => {
  test("adds hooks to Claude Code's settings, keeps the rest and a copy, and does it once", async () => {
    const { userHome, places, paths } = await user();
    const file = join(userHome, ".claude", "settings.json");
    await mkdir(join(userHome, ".claude"));
    const former = '{\n  // mine\n  "model": "opus"\n}\n';
    await writeFile(file, former);
    await chmod(file, 0o640);
    const result = await installHarness("claude-code", places);
    expect(result).toMatchObject({ changed: true, found: true, file, next: null });
    expect(await readFile(result.backup ?? "", "utf8")).toBe(former);
    const text = await readFile(file, "utf8");
    expect(text).toContain("// mine");
    expect(text).not.toContain("cairn_secret");
    expect(await mode(file)).toBe("640");
    expect(await mode(paths.launcher)).toBe("700");
    expect(await mode(paths.token)).toBe("600");
    expect(await mode(paths.directory)).toBe("700");
    const again = await installHarness("claude-code", places);
    expect(again).toMatchObject({ changed: false, backup: null });
    expect(await readdir(join(userHome, ".claude"))).toHaveLength(2);
    const taken = await uninstallHarness("claude-code", places);
    expect(taken.changed).toBe(true);
    expect(await readFile(file, "utf8")).toBe(former);
    expect((await uninstallHarness("claude-code", places)).changed).toBe(false);
  });

  test("leaves nothing where there were no settings before", async () => {
    const { userHome, places } = await user();
    const { file } = await installHarness("claude-code", places);
    const taken = await uninstallHarness("claude-code", places);
    expect(taken).toMatchObject({ changed: true, backup: null });
    expect(renderUninstall(taken, MARK)).toContain(`Removed ${file}, which held nothing else.`);
    expect(await readdir(userHome)).not.toContain(".claude");
    // What the user has put in meanwhile is the user's.
    await installHarness("claude-code", places);
    await writeFile(file, (await readFile(file, "utf8")).replace("{", '{ "model": "opus",'));
    const kept = await uninstallHarness("claude-code", places);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ model: "opus" });
    expect(renderUninstall(kept, MARK)).toContain(`is in ${kept.backup}: delete it`);
  });

  test("says in backticks how older sessions come in, which is how a source tree is told its own command", async () => {
    const { places } = await user();
    const result = { ...(await installHarness("claude-code", places)), node: "http://127.0.0.1:1" };
    expect(renderInstall(result, MARK)).toContain("`cairn capture backfill claude-code`");
  });

  test("follows a link to where the settings are kept, and leaves the link", async () => {
    const { userHome, places } = await user();
    await mkdir(join(userHome, "dotfiles"));
    await mkdir(join(userHome, ".claude"));
    await writeFile(join(userHome, "dotfiles", "claude.json"), "{}\n");
    await symlink(join(userHome, "dotfiles", "claude.json"), join(userHome, ".claude", "settings.json"));
    await installHarness("claude-code", places);
    expect(await readFile(join(userHome, "dotfiles", "claude.json"), "utf8")).toContain("SessionEnd");
    expect(await readdir(join(userHome, ".claude"))).toEqual(["settings.json"]);
  });

  test("writes Codex's hooks.json, which has nothing but what Codex knows, and says that they must be trusted", async () => {
    const { userHome, places } = await user();
    const result = await installHarness("codex", places);
    expect(result).toMatchObject({ changed: true, found: false, next: expect.stringContaining("/hooks") });
    const written = JSON.parse(await readFile(join(userHome, ".codex", "hooks.json"), "utf8")) as { hooks: object };
    expect(Object.keys(written)).toEqual(["hooks"]);
    expect(Object.keys(written.hooks)).toEqual(["SessionStart", "Stop"]);
  });

  test("writes OpenCode's plugin, and never over somebody else's", async () => {
    const { userHome, places, paths } = await user();
    const { file } = await installHarness("opencode", places);
    expect(file).toBe(join(userHome, ".config", "opencode", "plugins", "cairn-capture.js"));
    expect(await readFile(file, "utf8")).toContain(`const HOOK = ${JSON.stringify(paths.launcher)};`);
    expect((await installHarness("opencode", places)).changed).toBe(false);
    expect((await uninstallHarness("opencode", places)).changed).toBe(true);
    await writeFile(file, "export const Mine = async () => ({});\n");
    await expect(installHarness("opencode", places)).rejects.toMatchObject({ code: "CONFIG_EXISTS" });
    expect((await uninstallHarness("opencode", places)).changed).toBe(false);
    expect(await readFile(file, "utf8")).toContain("Mine");
  });

  test("leaves a file that it cannot understand as it is, and names it", async () => {
    const { userHome, places, paths } = await user();
    await mkdir(join(userHome, ".claude"));
    const file = join(userHome, ".claude", "settings.json");
    await writeFile(file, '{ "hooks": [broken');
    await expect(installHarness("claude-code", places)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(file),
    });
    expect(await readFile(file, "utf8")).toBe('{ "hooks": [broken');
    await expect(stat(paths.launcher)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("status tells what is installed, and what keeps it from working", async () => {
    const { places, paths } = await user();
    expect((await captureStatus(places)).harnesses.map(({ installed }) => installed)).toEqual([false, false, false]);
    await installHarness("claude-code", places);
    await installHarness("opencode", places);
    expect(await captureStatus(places)).toMatchObject({
      harnesses: [
        { harness: "claude-code", installed: true, problem: null },
        { harness: "codex", installed: false, found: false },
        { harness: "opencode", installed: true, problem: null },
      ],
      node: "http://127.0.0.1:1",
      spool: { waiting: 0, dead: 0 },
    });
    await rm(paths.launcher);
    expect((await captureStatus(places)).harnesses[0]?.problem).toContain("is gone");
    expect(await isUnused(places)).toBe(false);
    await uninstallHarness("claude-code", places);
    await uninstallHarness("opencode", places);
    expect(await isUnused(places)).toBe(true);
  });
});

test("the token stays while the settings of another assistant cannot be read: its hook may be in them", async () => {
  const { userHome, places } = await user();
  await installHarness("claude-code", places);
  await installHarness("codex", places);
  await writeFile(join(userHome, ".claude", "settings.json"), "{ half");
  await uninstallHarness("codex", places);
  expect(await isUnused(places)).toBe(false);
});

describe("what the harness starts", () => {
  /** Runs the hook as the harness would: by a shell, with the command of its settings. */
  async function started(command: string, env: NodeJS.ProcessEnv = process.env) {
    const running = promisify(execFile)("/bin/sh", ["-c", command], { env });
    running.child.stdin?.end('{"session_id":"s","note":"a \\"quote\\" and $HOME"}\n');
    return running;
  }

  async function installed() {
    const made = await user();
    const { userHome, places, script } = made;
    // Stands in for the hook: writes down what it was given.
    await writeFile(
      script,
      `import { writeFileSync } from "node:fs"; import { text } from "node:stream/consumers";
       writeFileSync(${JSON.stringify(join(userHome, "seen.json"))}, JSON.stringify({ argv: process.argv.slice(2), stdin: await text(process.stdin) }));`,
    );
    await installHarness("claude-code", places);
    const settings = JSON.parse(await readFile(join(userHome, ".claude", "settings.json"), "utf8")) as {
      hooks: { Stop: [{ hooks: [{ command: string }] }] };
    };
    return {
      ...made,
      command: settings.hooks.Stop[0].hooks[0].command,
      seen: () => readFile(join(userHome, "seen.json"), "utf8"),
    };
  }

  test("says nothing, ends with 0, and hands over the payload unchanged", async () => {
    const { command, seen, home } = await installed();
    const { stdout, stderr } = await started(command);
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "" });
    await until(async () => (await seen().catch(() => "")).endsWith("}"));
    expect(JSON.parse(await seen())).toEqual({
      argv: ["claude-code", home],
      stdin: '{"session_id":"s","note":"a \\"quote\\" and $HOME"}',
    });
  });

  test("is called by OpenCode's plugin when a session rests, and by nothing else", async () => {
    const { places, seen } = await installed();
    const { file } = await installHarness("opencode", places);
    const plugin = (await import(pathToFileURL(file).href)) as Record<
      string,
      () => Promise<{ event: (input: object) => Promise<void> }>
    >;
    expect(Object.keys(plugin)).toEqual(["CairnCapture"]);
    const hooks = await plugin["CairnCapture"]?.();
    const properties = { sessionID: "ses_1" };
    for (const event of [
      undefined,
      {},
      { type: "message.updated", properties },
      { type: "session.status", properties: { ...properties, status: { type: "busy" } } },
      { type: "session.idle" },
    ]) {
      await hooks?.event({ event });
    }
    await hooks?.event({ event: { type: "session.status", properties: { ...properties, status: { type: "idle" } } } });
    await until(async () => (await seen().catch(() => "")).endsWith("}"));
    expect(JSON.parse(await seen())).toEqual({
      argv: ["opencode", places.home],
      stdin: '{"hook_event_name":"Stop","session_id":"ses_1"}',
    });
  });

  test("takes the Node of the PATH when the one that it was installed with is gone", async () => {
    const { places, command, seen } = await installed();
    await installHarness("claude-code", { ...places, node: "/nowhere/node" });
    await started(command, { ...process.env, PATH: `${join(process.execPath, "..")}:/usr/bin:/bin` });
    await until(async () => (await seen().catch(() => "")).endsWith("}"));
  });

  test("ends with 0 when Cairn or Node is gone, and writes that down", async () => {
    const { command, script, paths } = await installed();
    await rm(script);
    expect(await started(command)).toMatchObject({ stdout: "", stderr: "" });
    expect(await readFile(paths.log, "utf8")).toMatch(/claude-code: .*is gone/);
  });
});
