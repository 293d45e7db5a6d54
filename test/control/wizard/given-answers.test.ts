import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerLeaves, leafAt } from "../../../control/wizard/answer-tree.ts";
import { type InitOptions, initialize } from "../../../control/wizard/init.ts";
import { parseAnswers } from "../../../control/wizard/parse-answers.ts";
import { checkTyped } from "../../../control/wizard/prompts/validate.ts";
import { bareEnvironment, temporaryDirectory } from "../../support/deployment.ts";

const KEY = "sk-ant-hunter2-0123456789abcdef";
const ADDRESS = "http://me:hunter2@127.0.0.1:9/v1";

/** What a setup with these answers says, and that it left nothing behind. */
async function refusal(options: Partial<InitOptions>): Promise<unknown> {
  const dir = await temporaryDirectory();
  const failed: unknown = await setup(dir, options).then(
    () => "nothing was refused",
    (error: unknown) => error,
  );
  expect(await readdir(dir)).toEqual([]);
  return failed;
}

function setup(dir: string, options: Partial<InitOptions>) {
  return initialize({
    directories: { dir, home: dir, file: join(dir, "cairn.yaml") },
    env: bareEnvironment(),
    localServers: [],
    timezone: "UTC",
    ...options,
  });
}

describe("a secret that is given as an answer", () => {
  test.each([
    ["model", { provider: "anthropic", model: KEY }, "--model", { provider: { id: "anthropic", model: KEY } }],
    [
      "address",
      { provider: "mine", "base-url": ADDRESS },
      "--base-url",
      { provider: { id: "mine", base_url: ADDRESS } },
    ],
    ["agent's model", { "agent-model": [`a=${KEY}`] }, "--agent-model", { agents: [{ name: "a", model: KEY }] }],
  ])("as %s is refused, and where it belongs is said", async (_what, flags, flag, answers) => {
    const byFlag = await refusal({ flags });
    expect(byFlag).toMatchObject({ name: "UsageError", message: expect.stringContaining(flag) });
    const byFile = await refusal({ answers });
    expect(byFile).toMatchObject({ code: "CONFIG_INVALID" });
    for (const failed of [byFlag, byFile]) {
      expect(String(failed)).toMatch(/\.env.*\$\{NAME\}/);
      expect(JSON.stringify(failed) + String(failed)).not.toContain("hunter2");
    }
  });

  test("is refused at the prompt", () => {
    for (const [path, typed] of [
      [["provider", "model"], KEY],
      [["provider", "base_url"], ADDRESS],
    ] as const) {
      const verdict = checkTyped({ kind: "input", path, required: true }, leafAt(answerLeaves(), path), typed);
      expect(verdict).toContain("${NAME}");
    }
  });

  test("is not shown where it stands in the place of something else", async () => {
    const failed = await refusal({ flags: { "channel-token": [`${"1".repeat(9)}:${"A".repeat(35)}`] } });
    expect(String(failed)).toContain("--channel-token ...");
    expect(String(failed)).not.toContain("AAAA");
  });

  test("may be referred to", async () => {
    const dir = await temporaryDirectory();
    const address = "http://me:${MY_PASSWORD}@127.0.0.1:9/v1";
    const env = bareEnvironment({ MY_PASSWORD: "p" });
    await setup(dir, { env, flags: { provider: "mine", "base-url": address, model: "m" } });
    expect(await readFile(join(dir, "cairn.yaml"), "utf8")).toContain(address);
  });

  test("and stands in the file already is left alone", async () => {
    const dir = await temporaryDirectory();
    const yaml = `version: 1\nagents:\n  main: { provider: mine }\nproviders:\n  mine: { kind: openai-compatible, base_url: "${ADDRESS}", model: m }\n`;
    await writeFile(join(dir, "cairn.yaml"), yaml);
    await setup(dir, { purpose: "change", flags: { model: "other" } });
    expect(await readFile(join(dir, "cairn.yaml"), "utf8")).toBe(yaml.replace("model: m", "model: other"));
  });
});

describe("a wrong answer that is given by a flag", () => {
  test.each([
    [{ listen: "nowhere" }, /--listen: HOST:PORT/],
    [{ timezone: "Mars/Olympus" }, /--timezone: /],
    [{ thinking: ["main=deep"] }, /--thinking: one of off, low, medium, high/],
    [{ "kube-replicas": "many", target: "kubernetes" }, /--kube-replicas: /],
    [{ "agent-model": ["bad name=m"] }, /--agent-model: an agent's name/],
    [{ target: "docker", node: ["Nova_1"] }, /--node: /],
    [{ listen: "nowhere", timezone: "Mars/Olympus" }, /--listen: [\s\S]*--timezone: /],
  ])("%j is wrong usage, and names the flag", async (flags, words) => {
    const failed = await refusal({ flags });
    expect(failed).toMatchObject({ name: "UsageError", hint: expect.stringContaining("--help") });
    expect(String(failed)).toMatch(words);
    expect(String(failed)).not.toMatch(/[Ii]nvalid input|expected/);
  });

  test.each([
    [{ "docker-host": "ssh://a@b" }, "--docker-host does not apply to the target manual", "--target docker"],
    [{ target: "docker", "kube-context": "prod" }, "--kube-context does not apply", "--target kubernetes"],
    [{ target: "kubernetes", "node-address": ["a=dhcp"] }, "--node-address does not apply", "--target proxmox"],
    [
      { "docker-network": "n", "docker-host": "local" },
      "--docker-host, --docker-network do not apply",
      "--target docker",
    ],
    [{ stack: "fleet" }, "--stack does not apply", "--target docker or --target proxmox or --target kubernetes"],
    [{ "docker-host": "local", "proxmox-host": "p" }, "--docker-host, --proxmox-host do not apply", "one target"],
  ])("%j, of another target, is named with what to do", async (flags, words, advice) => {
    const failed = await refusal({ flags });
    expect(failed).toMatchObject({ name: "UsageError", hint: expect.stringContaining(advice) });
    expect(String(failed)).toContain(words);
  });

  test("a database that is deployed is refused where nothing is, by flag and by file", async () => {
    const byFlag = await refusal({ flags: { memory: "datahub" } });
    expect(byFlag).toMatchObject({
      name: "UsageError",
      hint: expect.stringMatching(/postgres.*SERVICE_PG_URL.*embedded/),
    });
    expect(String(byFlag)).toContain("--memory datahub is the database that `cairn infra up` deploys");
    const byFile = await refusal({ answers: { memory: "datahub" } });
    expect(byFile).toMatchObject({
      code: "CONFIG_INVALID",
      details: { hint: expect.stringContaining("SERVICE_PG_URL") },
    });
  });
});

describe("a wrong answer in a file", () => {
  const words = (answers: Readonly<Record<string, unknown>>): string => {
    try {
      parseAnswers(answers);
    } catch (error) {
      expect(error).toMatchObject({
        code: "CONFIG_INVALID",
        details: { hint: expect.stringContaining("init --help") },
      });
      return String(error);
    }
    return "allowed";
  };

  test.each([
    [{ agents: ["a", "b"] }, "agents.0: a mapping that begins with `name:`, such as { name: main }"],
    [{ channels: ["telegram"] }, "channels.0: a mapping that begins with `id:`, such as { id: telegram }"],
    [{ deployment: { nodes: ["a"] } }, "deployment.nodes.0: a mapping that begins with `name:`"],
    [{ agents: "a" }, "agents: a list"],
    [{ provider: "openai" }, "provider: a mapping (name: value)"],
    [{ memory: "mysql" }, "memory: one of embedded, postgres, datahub"],
    [{ save_key: "yes" }, "save_key: true or false"],
    [{ channels: [{ id: "telegram", bindings: ["a"] }] }, "channels.0.bindings: a mapping (name: value)"],
  ])("%j is told in words of ours", (answers, expected) => {
    expect(words(answers)).toContain(expected);
    expect(words(answers)).not.toMatch(/[Ii]nvalid|expected|received/);
  });

  test.each([
    [
      { agents: [{ name: "a" }, { name: "b" }, { name: "a", model: "m" }] },
      "agents.2.name: a is there already, as entry 1",
    ],
    [{ channels: [{ id: "telegram" }, { id: "telegram" }] }, "channels.1.id: telegram is there already"],
    [{ deployment: { nodes: [{ name: "n" }, { name: "n" }] } }, "deployment.nodes.1.name: n is there already"],
  ])("%j, said twice, is refused", (answers, expected) => {
    expect(words(answers)).toContain(expected);
  });
});
