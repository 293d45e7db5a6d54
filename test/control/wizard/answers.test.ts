import { Parser } from "@oclif/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import ConfigCommand from "../../../control/commands/config/index.ts";
import Init from "../../../control/commands/init.ts";
import { answerFlags, flagAnswers } from "../../../control/wizard/answer-flags.ts";
import {
  type AnswerTree,
  answerAt,
  answerLeaves,
  leafAt,
  mergeAnswers,
  withAnswer,
  withEntries,
} from "../../../control/wizard/answer-tree.ts";
import { PHASES } from "../../../control/wizard/answers.ts";
import type { Facts } from "../../../control/wizard/detect/facts.ts";
import { parseAnswers } from "../../../control/wizard/parse-answers.ts";
import { questionsOf } from "../../../control/wizard/phases/flow.ts";
import { QUESTION_TEXTS } from "../../../control/wizard/prompts/texts.ts";

const FACTS: Facts = {
  node: "24.0.0",
  docker: null,
  pulumi: null,
  kubernetes: { current: "prod", contexts: ["prod", "test"] },
  ssh: null,
  servers: [],
  embeddings: [],
  own: { docker: null, network: null, listening: [] },
  unusable: [],
  provider: { id: "offline", kind: "offline", source: "offline", reason: "nothing was found" },
  timezone: "UTC",
};

/** For each answer a value that it may have, as a flag gives it. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  target: ["docker"],
  stack: ["fleet"],
  node: ["one", "two"],
  "node-host": ["one=ssh://a@b"],
  "node-address": ["one=10.0.0.2/24"],
  "node-member": ["one=pve2"],
  "docker-host": ["ssh://a@b"],
  "docker-network": ["net"],
  "proxmox-host": ["pve"],
  "proxmox-port": ["2222"],
  "proxmox-host-key": ["ssh-ed25519 AAAA"],
  "proxmox-user": ["cairn"],
  "proxmox-identity": ["~/.ssh/id"],
  "proxmox-template": ["local:vztmpl/debian.tar.zst"],
  "proxmox-storage": ["tank"],
  "proxmox-bridge": ["vmbr1"],
  "proxmox-gateway": ["10.0.0.1"],
  "postgres-address": ["10.0.0.3/24"],
  "kube-context": ["test"],
  "kube-namespace": ["agents"],
  "kube-storage-class": ["fast"],
  "kube-replicas": ["3"],
  publish: ["10.0.0.5:5432"],
  memory: ["postgres"],
  listen: ["127.0.0.1:80"],
  timezone: ["Europe/Berlin"],
  provider: ["openai"],
  "provider-kind": ["xai"],
  "base-url": ["http://127.0.0.1:80/v1"],
  model: ["m"],
  "key-variable": ["KEY"],
  agent: ["nova"],
  "agent-provider": ["nova=xai"],
  "agent-model": ["nova=m"],
  thinking: ["nova=low"],
  embedding: ["nomic-embed-text"],
  "embedding-url": ["http://127.0.0.1:80/v1"],
  channel: ["telegram"],
  "channel-token": ["telegram=TOKEN"],
  "channel-owner": ["telegram=12"],
  "channel-setting": ["telegram/webhook=https://cairn.example.org"],
  bind: ["telegram/7=nova"],
};

const parse = async (argv: readonly string[]): Promise<AnswerTree> => {
  const { flags } = await Parser.parse([...argv], { flags: Init.flags, strict: true });
  return flagAnswers(flags, {}).tree;
};

describe("the schema of the answers", () => {
  const leaves = answerLeaves();

  test("gives every answer a phase, a flag of its own, a description and the words of a question", () => {
    expect(new Set(leaves.map(({ flag }) => flag)).size).toBe(leaves.length);
    for (const leaf of leaves) {
      expect(PHASES, leaf.id).toContain(leaf.phase);
      expect(leaf.description, leaf.id).not.toBe("");
    }
    // Flags alone are asked for by no phase.
    const unasked = ["deployment.shared_storage", "provider.kind", "deployment.nodes.*.pve_node"];
    const withWords = leaves.filter(({ id }) => QUESTION_TEXTS[id] !== undefined || unasked.includes(id));
    expect(withWords.map(({ id }) => id)).toEqual(leaves.map(({ id }) => id));
    for (const id of Object.keys(QUESTION_TEXTS)) expect(leaves.map((leaf) => leaf.id)).toContain(id);
  });

  test("is what the flags of both commands are made from", () => {
    const flags = Object.keys(answerFlags());
    expect(flags).toEqual(leaves.map(({ flag }) => flag));
    expect(Object.keys(Init.flags)).toEqual(expect.arrayContaining(flags));
    expect(Object.keys(ConfigCommand.flags)).toEqual(expect.arrayContaining(flags));
  });

  test.each(leaves.map((leaf) => [leaf.flag, leaf] as const))("is reached by --%s", async (flag, leaf) => {
    const values = leaf.form === "switch" ? [] : (EXAMPLES[flag] ?? []);
    const argv = leaf.form === "switch" ? [`--${flag}`] : values.flatMap((value) => [`--${flag}`, value]);
    expect(argv, "an example of this flag is missing here").not.toEqual([]);
    const tree = await parse(argv);
    const path = leaf.path.map((part) => (part === "*" ? (values[0] ?? "").split(/[=/]/)[0] : part)) as string[];
    const reached = answerAt(tree, path);
    expect(reached, path.join(".")).toBeDefined();
    // What was written is what the schema gets, and nothing else.
    const answers = parseAnswers(tree);
    expect(answerAt(answers as unknown as AnswerTree, path)).toBeDefined();
    if (leaf.form === "value") expect(String(reached)).toBe(values[0]);
  });

  test("has every question that any phase asks, for every target and memory", () => {
    const states: AnswerTree[] = ["manual", "docker", "proxmox", "kubernetes"].flatMap((target) =>
      ["embedded", "postgres", "datahub"].flatMap((memory) =>
        ["offline", "anthropic", "mine"].map((id) => ({
          memory,
          save_key: true,
          deployment: {
            target,
            proxmox: { host: "pve" },
            nodes: [{ name: "one" }, { name: "two", host: "ssh://a@b", address: "10.0.0.2/24" }],
          },
          provider: { id },
          agents: [{ name: "nova" }, { name: "iris", provider: "xai" }],
          channels: [{ id: "telegram" }, { id: "discord" }],
          embedding: { model: "minilm" },
          summaries: true,
        })),
      ),
    );
    const asked = new Set<string>();
    for (const state of states) {
      const input = { answers: parseAnswers(state), facts: FACTS, env: {}, inFile: new Set<string>() };
      for (const phase of PHASES) {
        for (const question of questionsOf(phase, input)) {
          const leaf = leafAt(leaves, question.path);
          expect(leaf.phase, leaf.id).toBe(phase);
          expect(QUESTION_TEXTS[leaf.id], leaf.id).toBeDefined();
          asked.add(leaf.id);
        }
      }
    }
    const notAsked = leaves.filter(({ id }) => !asked.has(id)).map(({ id }) => id);
    expect(notAsked).toEqual(["deployment.nodes.*.pve_node", "provider.kind"]);
  });
});

describe("flags", () => {
  test.each([
    [["--thinking", "low"], "NAME=LEVEL"],
    [["--bind", "telegram=nova"], "ID/CHAT=AGENT"],
    [["--agent-model", "=x"], "NAME=MODEL"],
    [["--node-host", "one="], "NAME=HOST"],
  ])("%j is refused, and how to write it is said", async (argv, form) => {
    await expect(parse(argv)).rejects.toMatchObject({ name: "UsageError", hint: expect.stringContaining(form) });
  });

  test("overrule a file, and keep what it says beside", () => {
    const file = { agents: [{ name: "a", model: "m" }, { name: "b" }], provider: { id: "openai", model: "x" } };
    const { tree, answered } = flagAnswers({ agent: ["a"], provider: "openai", model: "y" }, file);
    expect(tree).toEqual({ agents: [{ name: "a", model: "m" }], provider: { id: "openai", model: "y" } });
    expect(answered).toEqual(["provider.id", "provider.model", "agents"]);
  });

  test("of another provider leave nothing of the former one", () => {
    const file = { provider: { id: "openai", model: "gpt", api_key_variable: "OPENAI_API_KEY" } };
    expect(flagAnswers({ provider: "anthropic" }, file).tree).toMatchObject({
      provider: { id: "anthropic", model: undefined, api_key_variable: undefined },
    });
  });
});

describe("trees of answers", () => {
  const name = fc.constantFrom("a", "b", "c");
  const path = fc.oneof(
    fc.constantFrom<string[]>(["listen"], ["deployment", "name"], ["provider", "model"]),
    name.map((entry) => ["agents", entry, "model"]),
    name.map((entry) => ["deployment", "nodes", entry, "host"]),
    fc.constantFrom("telegram", "discord").map((entry) => ["channels", entry, "owner_id"]),
  );
  const tree = fc
    .array(fc.tuple(path, fc.string({ minLength: 1 })), { maxLength: 8 })
    .map((answers) => answers.reduce<AnswerTree>((all, [at, value]) => withAnswer(all, at, value), {}));

  test("give back what was put in, and nothing else changes", () => {
    fc.assert(
      fc.property(tree, path, path, fc.string({ minLength: 1 }), (before, at, other, value) => {
        const after = withAnswer(before, at, value);
        expect(answerAt(after, at)).toBe(value);
        if (other.join() !== at.join()) expect(answerAt(after, other)).toEqual(answerAt(before, other));
      }),
    );
  });

  test("merged with nothing, or with themselves, stay the same", () => {
    fc.assert(
      fc.property(tree, (one) => {
        expect(mergeAnswers(one, {})).toEqual(one);
        expect(mergeAnswers({}, one)).toEqual(one);
        expect(mergeAnswers(one, one)).toEqual(one);
      }),
    );
  });

  test("keep of a list the entries that are named, with what was said of them", () => {
    fc.assert(
      fc.property(tree, fc.uniqueArray(name), (one, names: string[]) => {
        const after = withEntries(one, ["agents"], names);
        for (const entry of ["a", "b", "c"]) {
          const kept = names.includes(entry) ? answerAt(one, ["agents", entry, "model"]) : undefined;
          expect(answerAt(after, ["agents", entry, "model"])).toEqual(kept);
        }
      }),
    );
  });
});
