import { describe, expect, test } from "vitest";
import { usualFrom } from "../../../control/wizard/converse.ts";
import { detectOwnAddresses } from "../../../control/wizard/detect/containers.ts";
import { detectFacts, type Facts } from "../../../control/wizard/detect/facts.ts";
import { reachOf, seenFromNode } from "../../../control/wizard/detect/seen-from-node.ts";
import { finishCommand, finishSteps } from "../../../control/wizard/finish.ts";
import { parseAnswers } from "../../../control/wizard/parse-answers.ts";
import { type FlowState, nextStep, stateAfter, stateBefore, stepsOf } from "../../../control/wizard/phases/flow.ts";
import { startModels } from "../../support/terminal/models.ts";

const NOBODY: ReadonlySet<string> = new Set();
const NOTHING: FlowState = { tree: {}, answered: NOBODY };

const facts: Facts = await detectFacts({ env: {}, tools: [], localServers: [], timezone: "UTC" });
const around = { facts, env: {}, inFile: new Set<string>() };

/** A setup of that target, answered with what is usual; every state on the way. */
function walk(target: string): FlowState[] {
  const states: FlowState[] = [NOTHING];
  for (;;) {
    const state = states.at(-1) ?? NOTHING;
    const step = nextStep(state, around);
    if (step === null) return states;
    const usual = step.kind === "question" && "default" in step.question ? step.question.default : undefined;
    states.push(stateAfter(state, step, step.id === "deployment.target" ? target : usual));
  }
}

describe.each(["manual", "docker", "kubernetes"])("the steps of a setup for %s", (target) => {
  const states = walk(target);

  test("are undone one by one down to the first, and the answers stay", () => {
    let state = states.at(-1) ?? NOTHING;
    for (const earlier of states.slice(0, -1).reverse()) {
      const before = stateBefore(state, around, NOBODY);
      expect(before?.answered).toEqual(earlier.answered);
      expect(before?.tree).toEqual(states.at(-1)?.tree);
      state = before ?? NOTHING;
    }
    expect(stateBefore(state, around, NOBODY)).toBeNull();
  });

  test("answered again from any of them lead to the same setup", async () => {
    const last = states.at(-1) ?? NOTHING;
    for (const { answered } of states)
      expect(await usualFrom({ tree: last.tree, answered }, around)).toEqual(parseAnswers(last.tree));
  });

  test("pass over what a flag has answered", () => {
    const [first] = stepsOf(NOTHING, around);
    const [, second = NOTHING] = states;
    expect(stateBefore(second, around, new Set([first?.id ?? ""]))).toBeNull();
  });
});

describe("a model server of this machine", () => {
  const onLoopback = (listening: readonly string[]): Facts => ({
    ...facts,
    own: { docker: "172.17.0.1", network: "192.0.2.7", listening },
    servers: [
      { id: "ollama", kind: "x", baseUrl: "http://127.0.0.1:11434/v1", source: "local", reason: "it is there" },
    ],
    embeddings: [{ provider: "ollama", baseUrl: "http://localhost:11434", model: "nomic" }],
  });

  test.each([
    ["manual", {}, "http://127.0.0.1:11434/v1", null],
    ["docker", {}, "http://172.17.0.1:11434/v1", "heard"],
    ["docker", { docker: { host: "ssh://a@b" } }, "http://192.0.2.7:11434/v1", "unheard"],
    ["proxmox", {}, "http://192.0.2.7:11434/v1", "unheard"],
    ["kubernetes", {}, "http://192.0.2.7:11434/v1", "unheard"],
  ])("has for nodes on %s %o the address %s", (target, more, address, reach) => {
    const { deployment } = parseAnswers({ deployment: { target, ...more } });
    const seen = seenFromNode(onLoopback(["172.17.0.1:11434"]), deployment);
    expect(seen.servers[0]?.baseUrl).toBe(address);
    expect(seen.embeddings[0]?.baseUrl).toBe(address.replace("/v1", "").replace("127.0.0.1", "localhost"));
    expect(reachOf(seen, deployment, address)).toBe(reach);
    expect(reachOf(seen, deployment, "http://[::1]:1")).toBe(target === "manual" ? null : "loopback");
    expect(reachOf(seen, deployment, "https://models.example.org/v1")).toBeNull();
  });

  test("that listens on loopback alone is heard nowhere else", async () => {
    const server = await startModels("qwen3");
    const own = await detectOwnAddresses({ env: {}, docker: false, servers: [server], timeoutMs: 1_000 });
    expect(own).toMatchObject({ docker: null, listening: [] });
  });
});

test("what is asked at the end is what works on the machine, and one command does it", () => {
  const service = { scope: "user", file: "/u/cairn.service", installed: false } as const;
  expect(finishSteps("docker", null)).toEqual(["deploy"]);
  expect(finishSteps("manual", null)).toEqual(["start"]);
  expect(finishSteps("manual", service)).toEqual(["service", "start"]);
  const installed = { ...service, installed: true };
  expect(finishSteps("manual", installed)).toEqual(["start"]);

  expect(finishCommand({ deploy: false }, null)).toBeNull();
  expect(finishCommand({ deploy: true }, null)).toEqual(["infra", "up"]);
  expect(finishCommand({ start: true }, null)).toEqual(["start"]);
  expect(finishCommand({ service: false, start: true }, service)).toEqual(["start"]);
  expect(finishCommand({ service: true, start: true }, service)).toEqual(["service", "install"]);
  expect(finishCommand({ service: true, start: false }, service)).toEqual(["service", "install", "--no-start"]);
  expect(finishCommand({ start: true }, installed)).toEqual(["service", "install"]);
  expect(finishCommand({ service: false, start: false }, service)).toBeNull();
});
