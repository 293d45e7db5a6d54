import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Parser } from "@oclif/core";
import { describe, expect, onTestFinished, test } from "vitest";
import Init from "../../../control/commands/init.ts";
import { initialize } from "../../../control/wizard/init.ts";
import { readProject } from "../../../infra/project.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { bareEnvironment, temporaryDirectory } from "../../support/deployment.ts";
import { createFakeTools } from "../../support/fake-tools.ts";
import { writtenFiles } from "../../support/terminal/setup-session.ts";
import { TARGETS } from "../../support/terminal/targets.ts";

const GOLDEN = new URL("../../fixtures/init/", import.meta.url);
/** Where the shell of played tools finds its own. */
const PATH = "/usr/bin:/bin";
const ENV = bareEnvironment({ PATH: "/nonexistent", SERVICE_API_TOKEN: "token-of-this-test-only" });

async function setup(argv: readonly string[], env = ENV) {
  const dir = join(await temporaryDirectory(), "deployment");
  const { flags } = await Parser.parse([...argv], { flags: Init.flags, strict: true });
  const result = await initialize({
    directories: { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml") },
    env,
    flags,
    localServers: [],
    timezone: "UTC",
  });
  return { dir, result };
}

describe("a setup by flags", () => {
  test.each(Object.entries(TARGETS))(
    "for %s writes exactly what is agreed, and what can be deployed",
    async (name, { flags }) => {
      const { dir, result } = await setup(flags);
      const files = await writtenFiles(dir);
      await expect(files["cairn.yaml"]).toMatchFileSnapshot(new URL(`target-${name}.yaml`, GOLDEN).pathname);
      const infra = Object.keys(files).filter((path) => path.startsWith("infra/"));
      expect(infra.length > 0).toBe(name !== "manual");
      expect(files[".gitignore"]).toContain(".env");

      const env = { ...ENV, ANTHROPIC_API_KEY: "k", TELEGRAM_TOKEN: "t" };
      const { errors, warnings } = await inspectConfig({ dir, env, deployment: true });
      expect(errors).toEqual([]);
      expect(warnings).toEqual([]);
      if (name === "manual") return;
      const { plan } = await readProject({ dir, env });
      expect(plan).toMatchObject({ target: name, stack: result.target === "docker" ? "fleet" : "cairn" });
      expect(result.next).toContain("cairn infra up");
    },
  );

  test("takes what is usual for everything but what nothing is usual for, and names all of that at once", async () => {
    await expect(setup(["--target", "proxmox"])).rejects.toMatchObject({
      name: "UsageError",
      message: expect.stringMatching(/--proxmox-host, --proxmox-host-key, --postgres-address/),
    });
    const { result } = await setup(["--target", "kubernetes"]);
    expect(result).toMatchObject({ target: "kubernetes", memory: "datahub", agents: ["main"] });
  });

  test.each([
    ["kubernetes", { kubectl: `echo '{"contexts": []}'` }, "kubectl knows no cluster: `kubectl config get-contexts`"],
    ["proxmox", { ssh: "exit 0", "ssh-add": "exit 1" }, "No SSH key was found: load one with `ssh-add FILE`"],
  ] as const)("for %s says what `infra up` will want, and this machine lacks", async (name, answers, note) => {
    const tools = await createFakeTools();
    onTestFinished(tools.remove);
    for (const [tool, answer] of Object.entries(answers)) await tools.add(tool, answer);
    const home = await temporaryDirectory();
    const { result } = await setup(TARGETS[name].flags, { ...ENV, PATH: `${tools.directory}:${PATH}`, HOME: home });
    expect(result.notes).toContainEqual(expect.stringContaining(note));
  });

  test("is refused where it could not be deployed, before anything is written", async () => {
    const dir = join(await temporaryDirectory(), "deployment");
    const { flags } = await Parser.parse([...TARGETS.proxmox.flags, "--node-address", "one=192.168.1.42/24"], {
      flags: Init.flags,
      strict: true,
    });
    const directories = { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml") };
    await expect(initialize({ directories, env: ENV, flags, localServers: [] })).rejects.toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringContaining("192.168.1.42"),
    });
    expect(await readdir(dir).catch(() => [])).toEqual([]);
  });

  test("copies keys and tokens from the environment into .env only where that is asked for", async () => {
    const env = { ...ENV, ANTHROPIC_API_KEY: "sk-of-the-environment", TELEGRAM_TOKEN: "12:of-the-environment" };
    const argv = ["--channel", "telegram", "--channel-owner", "telegram=12"];
    const without = await setup(argv, env);
    expect(JSON.stringify([await writtenFiles(without.dir), without.result])).not.toContain("of-the-environment");
    const saved = await setup([...argv, "--save-key"], env);
    const { ".env": secrets, ...others } = await writtenFiles(saved.dir);
    expect(secrets).toContain("ANTHROPIC_API_KEY=sk-of-the-environment\n");
    expect(secrets).toContain("TELEGRAM_TOKEN=12:of-the-environment\n");
    expect(JSON.stringify([others, saved.result])).not.toContain("of-the-environment");
  });
});
