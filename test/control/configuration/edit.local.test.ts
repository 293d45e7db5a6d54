import { chmod, lstat, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { addAgent, listAgents, removeAgent } from "../../../control/configuration/agents.ts";
import { editConfiguration } from "../../../control/configuration/edit.ts";
import { listProviders, switchProvider } from "../../../control/configuration/providers.ts";
import { replaceConfiguration } from "../../../control/configuration/replace.ts";
import { doubted } from "../../../control/configuration/unlisted-model.ts";
import type { Deployment } from "../../../control/service/deployment.ts";
import { startOllamaFake } from "../../fakes/ollama/index.ts";
import { deploymentDirectory } from "../../support/deployment.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace } from "../../support/planted-files.ts";
import { writePlugins } from "../../support/plugin-folders.ts";

const YAML = `# Ours.
version: 1

runtime:
  default_agent: main # who answers

agents:
  # The first one.
  main:
    provider: anthropic # keep me
    default_thinking: low
providers:
  anthropic:
    model: claude-sonnet-5-5
    api_key: \${ANTHROPIC_API_KEY}
    x_note: "unknown keys stay"
channels:
  # The bot.
  telegram:
    token: \${TELEGRAM_TOKEN}
    channel_bindings:
      "-100:5": main
`;

async function deploymentOf(yaml = YAML, env = "ANTHROPIC_API_KEY=sk-ant-1234567890abcdef1234\nTELEGRAM_TOKEN=t\n") {
  const dir = await deploymentDirectory({ yaml, env });
  const deployment: Deployment = { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml"), exists: true };
  return { deployment, read: () => readFile(deployment.file, "utf8") };
}

let given: Awaited<ReturnType<typeof deploymentOf>>;
beforeEach(async () => {
  given = await deploymentOf();
});

describe("editing cairn.yaml", () => {
  it("changes what was asked for and keeps every other line", async () => {
    const edit = await switchProvider(given.deployment, { model: "claude-opus-5" });
    expect(edit).toMatchObject({ changed: true, agent: "main", provider: "anthropic", model: "claude-opus-5" });
    expect(await given.read()).toBe(YAML.replace("claude-sonnet-5-5", "claude-opus-5"));
    expect(edit.diff).toContain("-    model: claude-sonnet-5-5\n+    model: claude-opus-5\n");
  });

  it("writes nothing when nothing changes, and nothing in a dry run", async () => {
    expect(await switchProvider(given.deployment, { provider: "anthropic" })).toMatchObject({ changed: false });
    const dry = await switchProvider(given.deployment, { model: "other" }, { dryRun: true });
    expect(dry.changed).toBe(true);
    expect(await given.read()).toBe(YAML);
  });

  it("finds plugins whose directory is written as from the file's own", async () => {
    given = await deploymentOf(
      `${YAML}  desk: { kind: pager, owner_id: ada, settings: { shelf: left } }\nplugin_dirs: [./plugins]\n`,
    );
    const settings = { type: "object", properties: { shelf: { type: "string" } } };
    await writePlugins(join(given.deployment.dir, "plugins"), { pager: { kind: "channel", settings } });
    expect((await switchProvider(given.deployment, { model: "other" })).warnings).toEqual([]);
  });

  it("keeps the file's mode", async () => {
    await chmod(given.deployment.file, 0o600);
    await switchProvider(given.deployment, { model: "other" });
    expect((await stat(given.deployment.file)).mode & 0o777).toBe(0o600);
  });

  it("refuses what would make the file invalid, and leaves it", async () => {
    const broken = editConfiguration(given.deployment, (document) => {
      document.setIn(["runtime", "default_agent"], "nobody");
    });
    await expect(broken).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(await given.read()).toBe(YAML);
  });

  it("lets a file that is wrong elsewhere be edited, but not made worse", async () => {
    const wrong = await deploymentOf(YAML.replace("default_thinking: low", "default_thinking: deep"));
    await expect(
      editConfiguration(wrong.deployment, (document) => document.setIn(["runtime", "timezone"], "Europe/Berlin")),
    ).resolves.toMatchObject({ changed: true });
    await expect(
      editConfiguration(wrong.deployment, (document) => document.setIn(["runtime", "timezone"], "Nowhere")),
    ).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("does not overwrite what somebody else wrote meanwhile", async () => {
    const edit = editConfiguration(given.deployment, async (document) => {
      document.setIn(["runtime", "timezone"], "UTC");
      await writeFile(given.deployment.file, `${YAML}# theirs\n`);
    });
    await expect(edit).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(await given.read()).toContain("# theirs");
  });

  it("loses no change of several commands at the same moment: each is written, or told of the conflict", async () => {
    const { deployment, read } = given;
    const zones = Array.from({ length: 12 }, (_, index) => `x_zone_${index}`);
    const edits = await Promise.allSettled(
      zones.map((zone) => editConfiguration(deployment, (document) => document.setIn(["runtime", zone], true))),
    );
    for (const edit of edits)
      if (edit.status === "rejected") expect(edit.reason).toMatchObject({ code: "RUNTIME_CONFLICT" });
    const written = zones.filter((_zone, index) => edits[index]?.status === "fulfilled");
    expect(written).not.toEqual([]);
    expect(
      Object.keys(parse(await read()).runtime)
        .filter((key) => key.startsWith("x_"))
        .sort(),
    ).toEqual(written.sort());
    expect((await readdir(deployment.dir)).filter((name) => name.startsWith("cairn.yaml"))).toEqual(["cairn.yaml"]);
  });

  it("leaves a file that nobody may write, and says how it is allowed", async () => {
    await chmod(given.deployment.file, 0o444);
    await expect(switchProvider(given.deployment, { model: "other" })).rejects.toMatchObject({
      code: "CONFIG_UNWRITABLE",
      message: expect.stringContaining("0444"),
      details: { hint: expect.stringContaining("chmod u+w") },
    });
    expect(await given.read()).toBe(YAML);
  });

  it("writes the path of a directory with a space as one word of the shell in that hint", async () => {
    const file = join(given.deployment.dir, "my home.yaml");
    await writeFile(file, YAML);
    await chmod(file, 0o444);
    await expect(replaceConfiguration({ file, expected: YAML, text: "version: 1\n" })).rejects.toMatchObject({
      details: { hint: expect.stringContaining(`\`chmod u+w '${file}'\``) },
    });
  });

  it("changes what a link leads to, and the link stays", async () => {
    const real = join(given.deployment.dir, "real.yaml");
    await rename(given.deployment.file, real);
    await symlink("real.yaml", given.deployment.file);
    await switchProvider(given.deployment, { model: "other" });
    expect((await lstat(given.deployment.file)).isSymbolicLink()).toBe(true);
    expect(await readFile(real, "utf8")).toContain("model: other");
  });

  it.each([
    ["broken YAML", "version: 1\nagents: [\n", "CONFIG_"],
    ["a newer version", YAML.replace("version: 1", "version: 2"), "CONFIG_VERSION_UNSUPPORTED"],
  ])("leaves %s alone", async (_what, yaml, code) => {
    const bad = await deploymentOf(yaml);
    await expect(switchProvider(bad.deployment, { model: "x" })).rejects.toThrow(
      expect.objectContaining({ code: expect.stringContaining(code) }),
    );
    expect(await bad.read()).toBe(yaml);
  });

  it("shows no secret of the file in the diff", async () => {
    const secret = "sk-ant-abcdefghijklmnop1234567890";
    const bad = await deploymentOf(YAML.replace("${ANTHROPIC_API_KEY}", secret));
    const edit = await switchProvider(bad.deployment, { model: "other" });
    expect(edit.diff).toContain("api_key:");
    expect(edit.diff).not.toContain(secret);
  });

  it("shows a reference to a variable that is not set as the reference", async () => {
    const { deployment } = await deploymentOf(YAML, "");
    const edit = await switchProvider(deployment, { provider: "openai", model: "m" });
    expect(edit.diff).toContain("+    api_key: ${OPENAI_API_KEY}\n");
    expect(edit.diff).not.toContain("[redacted]");
  });

  it("keeps all that it was not told to change, whatever is added", async () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/).filter((one) => one !== "main");
    await fc.assert(
      fc.asyncProperty(name, fc.string({ minLength: 1, maxLength: 40 }), async (agent, description) => {
        fc.pre(!description.includes("${") && description.trim() !== "" && !description.startsWith("op://"));
        const { deployment, read } = await deploymentOf();
        await addAgent(deployment, { name: agent, description, makeDefault: false });
        const after = parse(await read());
        expect(after.agents[agent]).toEqual({ description, provider: "anthropic" });
        delete after.agents[agent];
        expect(after).toEqual(parse(YAML));
        await removeAgent(deployment, agent);
        expect(await read()).toBe(YAML);
      }),
      { numRuns: 15 },
    );
  });
});

describe("the first agent", () => {
  it.each([
    ["nothing", ""],
    ["a version", "version: 1\n"],
    ["no agent any more", "version: 1\nagents: {}\nproviders: { offline: {} }\n"],
    ["an empty key", "version: 1\nagents:\nproviders:\n  offline: {}\n"],
  ])("is added to a file with %s", async (_what, yaml) => {
    const { deployment, read } = await deploymentOf(yaml, "");
    await addAgent(deployment, { name: "first", provider: "offline", makeDefault: false });
    expect(parse(await read()).agents).toEqual({ first: { provider: "offline" } });
    expect(await listAgents(deployment)).toMatchObject([{ name: "first", default: true }]);
  });
});

describe("a further agent", () => {
  it.each(["second", "main"])("%s leaves the default one where it was only the only one", async (name) => {
    const only = "version: 1\nagents:\n  first: {}\nproviders:\n  offline: {}\n";
    const { deployment, read } = await deploymentOf(only, "");
    await addAgent(deployment, { name, makeDefault: false });
    expect(await listAgents(deployment)).toMatchObject([{ default: true }, { name, default: false }]);
    expect(parse(await read()).runtime).toEqual({ default_agent: "first" });
  });
});

describe("agents", () => {
  it("are not added where their workspace cannot be", async () => {
    await writeFile(join(given.deployment.dir, "taken"), "a file");
    const added = addAgent(given.deployment, { name: "a", workspace: "taken", makeDefault: false });
    await expect(added).rejects.toMatchObject({ code: "CONFIG_UNWRITABLE" });
    expect(await given.read()).toBe(YAML);
  });

  it("that are asked for by a wrong name are not just missing from the list", async () => {
    expect(await listAgents(given.deployment, { agent: "main" })).toHaveLength(1);
    await expect(listAgents(given.deployment, { agent: "man" })).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
  });

  it("are listed with what answers for them", async () => {
    await addAgent(given.deployment, { name: "writer", model: "m2", workspace: "agents/writer", makeDefault: true });
    const [main, writer] = await listAgents(given.deployment);
    expect(main).toMatchObject({ name: "main", default: false, model: "claude-sonnet-5-5", thinking: "low" });
    expect(main?.channels).toEqual(["telegram/-100:5"]);
    expect(writer).toMatchObject({ name: "writer", default: true, provider: "anthropic", model: "m2", channels: [] });
    expect(writer?.workspace).toBe(join(given.deployment.dir, "agents/writer"));
  });

  it("are listed with what stands in the file where a variable is not set", async () => {
    const yaml = YAML.replace(
      "    provider: anthropic # keep me",
      '    provider: anthropic\n    model: ${CAIRN_TEST_MODEL}\n    description: "runs ${CAIRN_TEST_MODEL} or ${CAIRN_TEST_OTHER:-none}"',
    );
    const { deployment } = await deploymentOf(yaml);
    expect(await listAgents(deployment)).toMatchObject([
      { name: "main", model: "${CAIRN_TEST_MODEL}", description: "runs ${CAIRN_TEST_MODEL} or none" },
    ]);
    const edit = await editConfiguration(deployment, (document) => document.setIn(["runtime", "timezone"], "UTC"));
    expect(edit.missing).toEqual(["CAIRN_TEST_MODEL"]);
  });

  it("get the template's files in a workspace of their own, and keep those that are there", async () => {
    const dir = await deploymentDirectory({ yaml: YAML, env: "ANTHROPIC_API_KEY=k\nTELEGRAM_TOKEN=t\n" });
    const deployment = { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml"), exists: true };
    const first = await addAgent(deployment, { name: "a", workspace: "own", makeDefault: false });
    expect(first.workspaceFiles).toContain(join(dir, "own", "SOUL.md"));
    await writeFile(join(dir, "own", "SOUL.md"), "mine");
    const second = await addAgent(deployment, { name: "b", workspace: "own", makeDefault: false });
    expect(second.workspaceFiles).toEqual([]);
    expect(await readFile(join(dir, "own", "SOUL.md"), "utf8")).toBe("mine");
  });

  it.each(Object.keys(PLANTS))("leave %s in a workspace that agents have worked in", async (kind) => {
    const place = await plantedPlace();
    const { deployment } = await deploymentOf();
    await PLANTS[kind]?.(join(place.workspace, "SOUL.md"), place);
    const before = await lstat(join(place.workspace, "SOUL.md"));
    const added = await addAgent(deployment, { name: "a", workspace: place.workspace, makeDefault: false });
    expect(added.workspaceFiles).toContain(join(place.workspace, "CORE.md"));
    expect(added.workspaceFiles).not.toContain(join(place.workspace, "SOUL.md"));
    expect((await lstat(join(place.workspace, "SOUL.md"))).ino).toBe(before.ino);
    expect(await readFile(join(place.outside, "secret.md"), "utf8")).toBe(PLANTED_SECRET);
    expect((await readdir(place.base)).sort()).toEqual([".env", "outside", "workspace"]);
  });

  it("that cannot be removed are told how they could", async () => {
    await addAgent(given.deployment, { name: "writer", makeDefault: false });
    const hint = /`cairn config --yes --agent writer --agent main`.*`cairn config --yes --bind telegram\/-100:5=AGENT`/;
    const removed = removeAgent(given.deployment, "main");
    await expect(removed).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      details: { hint: expect.stringMatching(hint) },
    });
  });

  it.each([
    ["the default agent", "main", "RUNTIME_CONFLICT"],
    ["an unknown agent", "nobody", "RUNTIME_NOT_FOUND"],
    ["a name of the language", "constructor", "RUNTIME_NOT_FOUND"],
  ])("%s is not removed", async (_what, name, code) => {
    await expect(removeAgent(given.deployment, name)).rejects.toMatchObject({ code });
    expect(await given.read()).toBe(YAML);
  });

  it("are not added twice, nor with a name that is none", async () => {
    await expect(addAgent(given.deployment, { name: "main", makeDefault: false })).rejects.toMatchObject({
      code: "CONFIG_EXISTS",
    });
    for (const name of ["a; rm -rf /", "__proto__", "../x", "", "a\nb", "-x"]) {
      const added = addAgent(given.deployment, { name, makeDefault: false });
      await expect(added, name).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    }
    expect(await given.read()).toBe(YAML);
  });
});

describe("a model", () => {
  it("that its provider does not list is written with a warning that names the nearest", async () => {
    const server = await startOllamaFake(["llama3.2:3b", "qwen3:8b"]);
    onTestFinished(() => server.close());
    const ollama = `ollama: { kind: ollama, base_url: "${server.url}/v1", model: "qwen3:8b" }`;
    const { deployment, read } = await deploymentOf(
      `version: 1\nagents: { main: { provider: ollama } }\nproviders: { ${ollama} }\n`,
    );
    const { signal } = new AbortController();
    const edit = async (model: string) => doubted(deployment, await switchProvider(deployment, { model }), signal);
    expect(await edit("qwen3:9b")).toMatchObject({
      changed: true,
      warnings: [
        { path: "providers.ollama", message: expect.stringMatching(/ qwen3:9b\. Nearest .*: qwen3:8b, llama/) },
      ],
    });
    expect(await read()).toContain("qwen3:9b");
    expect((await edit("llama3.2:3b")).warnings).toEqual([]);
    await server.close();
    expect((await edit("nonsense")).warnings).toEqual([]);
  });
});

describe("providers", () => {
  it("that are well known are added with a reference to their key, which may be set later", async () => {
    const edit = await switchProvider(given.deployment, { provider: "openai" });
    expect(edit.missing).toContain("OPENAI_API_KEY");
    expect(parse(await given.read()).providers.openai).toMatchObject({
      kind: "openai-compatible",
      api_key: "${OPENAI_API_KEY}",
    });
    // The list is there while the key is not.
    expect(await listAgents(given.deployment)).toMatchObject([{ name: "main", provider: "openai" }]);
    expect((await listProviders(given.deployment)).find(({ id }) => id === "openai")?.key).toBe("missing");
  });

  it("whose usual key variable is not set are listed as such", async () => {
    const bare = await deploymentOf("version: 1\nagents:\n  main: {}\nproviders:\n  anthropic:\n    model: m\n", "");
    expect(await listProviders(bare.deployment)).toMatchObject([{ id: "anthropic", key: "missing" }]);
  });

  it("with an address of their own never get the public service's key", async () => {
    await switchProvider(given.deployment, { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", model: "m" });
    const { openai } = parse(await given.read()).providers;
    expect(openai).toEqual({ kind: "openai-compatible", base_url: "http://127.0.0.1:9/v1", model: "m" });
  });

  it.each([
    [{ provider: "somewhere" }, "RUNTIME_NOT_FOUND"],
    [{ provider: "somewhere", baseUrl: "http://127.0.0.1:9/v1" }, "CONFIG_INVALID"],
    [{ provider: "__proto__", baseUrl: "http://127.0.0.1:9/v1", model: "m" }, "CONFIG_INVALID"],
    [{ agent: "nobody", model: "m" }, "RUNTIME_NOT_FOUND"],
  ])("%j is refused", async (request, code) => {
    await expect(switchProvider(given.deployment, request)).rejects.toMatchObject({ code });
    expect(await given.read()).toBe(YAML);
  });

  it("say whether their key is there, and never what it is", async () => {
    const listed = await listProviders(given.deployment);
    expect(listed).toMatchObject([{ id: "anthropic", key: "set", agents: ["main"] }]);
    expect(JSON.stringify(listed)).not.toContain("sk-ant");
  });

  it("are given another address, also without being named", async () => {
    await switchProvider(given.deployment, { baseUrl: "http://127.0.0.1:9/v1" });
    expect(parse(await given.read()).providers.anthropic.base_url).toBe("http://127.0.0.1:9/v1");
  });

  it.each([
    [
      "a password in its address",
      { baseUrl: "http://me:hunter2-secret@127.0.0.1:9/v1" },
      "providers.anthropic.base_url",
    ],
    ["a key for its model", { model: "sk-ant-hunter2-secret-0123456789" }, "providers.anthropic.model"],
  ])("never get %s into the file, and are told where it belongs", async (_what, request, path) => {
    const refused: unknown = await switchProvider(given.deployment, request).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining(path) });
    expect(refused).toMatchObject({ details: { hint: expect.stringMatching(/\.env .*\$\{NAME\}/) } });
    expect(JSON.stringify(refused) + String(refused)).not.toContain("hunter2");
    expect(await given.read()).toBe(YAML);
  });

  it("keep a password that stands in their address already, and may refer to one", async () => {
    const address = "http://me:hunter2-secret@127.0.0.1:9/v1";
    const old = await deploymentOf(YAML.replace("    model:", `    base_url: ${address}\n    model:`));
    expect(await switchProvider(old.deployment, { model: "m" })).toMatchObject({ changed: true, warnings: [] });
    expect(await old.read()).toContain(address);
    const referring = await switchProvider(given.deployment, { baseUrl: "http://me:${PASSWORD}@127.0.0.1:9/v1" });
    expect(referring).toMatchObject({ changed: true, missing: ["PASSWORD"] });
  });

  it("a shared provider's model is changed for the agent alone", async () => {
    await addAgent(given.deployment, { name: "other", makeDefault: false });
    await switchProvider(given.deployment, { agent: "other", model: "m2" });
    const { agents, providers } = parse(await given.read());
    expect(agents.other.model).toBe("m2");
    expect(agents.main.model).toBeUndefined();
    expect(providers.anthropic.model).toBe("claude-sonnet-5-5");
  });

  it("a model of its own goes with the provider that it was of", async () => {
    await addAgent(given.deployment, { name: "other", model: "m2", makeDefault: false });
    await switchProvider(given.deployment, { agent: "other", provider: "offline" });
    expect(parse(await given.read()).agents.other).toEqual({ provider: "offline" });
  });
});
