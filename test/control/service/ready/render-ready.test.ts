import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Mark } from "../../../../control/output/terminal.ts";
import { describeFound, type Found } from "../../../../control/service/ready/found.ts";
import { renderNodeEnd, renderReady } from "../../../../control/service/ready/render-ready.ts";
import type { Health } from "../../../../runtime/client/index.ts";
import { loadConfig } from "../../../../runtime/config/index.ts";
import { deploymentDirectory, MINIMAL } from "../../../support/deployment.ts";
import { healthWith } from "../../doctor/probe-context.ts";

const same = (text: string): string => text;
const mark: Mark = { title: same, good: same, warn: same, error: same, dim: same, name: same };
const typed = (text: string): string => text.replaceAll("`cairn ", "`npm run -s cairn -- ");
const page = { mark, width: 40, typed };

const asked = (health: Health | null) => ({ health, embedderAnswers: null });

const FOUND: Found = {
  url: "http://127.0.0.1:7433",
  agent: "main",
  model: { provider: "ollama", name: "qwen3:4b", none: false, available: true },
  embedding: { provider: "ollama", model: "embed-small", answers: true },
  sandbox: "works",
};

describe("the ready screen", () => {
  it("tells what was found, where to talk and the keys", () => {
    const text = renderReady(FOUND, { mark, width: undefined, typed: same });
    expect(text).toContain("model      ollama (qwen3:4b), available");
    expect(text).toContain("meaning (ollama, embed-small)");
    expect(text).toContain("bubblewrap, for agents' commands");
    expect(text).toContain("http://127.0.0.1:7433");
    expect(text).toContain("`cairn chat --agent main`");
    expect([...text.matchAll(/^[a-z] {2}/gm)].map(([key]) => key.trim())).toEqual(["c", "d", "l", "q"]);
  });

  it("says what search and model cannot do now, and what leads further", () => {
    const embedding = { provider: "ollama", model: "embed-small", answers: false };
    const model = { ...FOUND.model, available: false };
    const text = renderReady({ ...FOUND, embedding, model }, { mark, width: undefined, typed: same });
    expect(text).toContain(
      "search     by words and time; by meaning once the embedding model answers (ollama, embed-small)",
    );
    expect(text).toContain("ollama (qwen3:4b); it is not available, `cairn doctor` says why");
  });

  it("breaks lines between words, of commands as they are typed here", () => {
    const sandbox = { problem: "bubblewrap (bwrap) is not installed", fix: "Install the package bubblewrap." };
    const lines = renderReady({ ...FOUND, sandbox }, page).split("\n");
    const tooLong = lines.filter((line) => line.length > 40);
    expect(tooLong.map((line) => line.trim())).toEqual([
      expect.stringContaining("`npm run -s cairn -- chat --agent main`"),
    ]);
    expect(lines.join(" ").replace(/\s+/g, " ")).toContain("is not installed. Install the package bubblewrap.");
  });

  it("shows control characters of names", () => {
    const model = { ...FOUND.model, name: "a\u001b[2Jb" };
    expect(renderReady({ ...FOUND, model }, page)).not.toContain("\u001b");
  });

  it("says how the node ended", () => {
    expect(renderNodeEnd({ kind: "stopped" }, page)).toBe("The node has stopped.");
    const restarted = { kind: "restarted", pid: 7, url: "http://127.0.0.1:1" } as const;
    expect(renderNodeEnd(restarted, page).replaceAll("\n", " ")).toContain("in the background now: process 7");
    const failed = { kind: "failed", how: "signal SIGKILL", words: "out of memory" } as const;
    expect(renderNodeEnd(failed, page).replaceAll("\n", " ")).toContain("starts it again");
    expect(renderNodeEnd(failed, page)).toMatch(/signal\s+SIGKILL[\s\S]*It said:\nout of memory/);
  });
});

describe("what was found", () => {
  it("takes model and state from the health, and the rest from the configuration", async () => {
    const found = describeFound(await configured(""), asked(healthWith()), "http://h", null);
    expect(found).toMatchObject({ agent: "main", embedding: null, sandbox: "works", url: "http://h" });
    expect(found.model).toMatchObject({ provider: "offline", name: "offline", available: true });
  });

  it("does not claim a model of a node that does not answer", async () => {
    expect(describeFound(await configured(""), asked(null), "http://h", null).model.available).toBeNull();
  });

  it.each([
    ["tools: { shell: { sandbox: none } }\n", "off"],
    ["tools: { shell: { enabled: false } }\n", "unused"],
  ])("tells a sandbox that is not wanted with %j", async (yaml, expected) => {
    expect(describeFound(await configured(yaml), asked(healthWith()), "http://h", null).sandbox).toBe(expected);
  });
});

async function configured(more: string) {
  const dir = await deploymentDirectory({ yaml: MINIMAL + more });
  const { config } = await loadConfig({ dir, home: join(dir, "home"), env: { HOME: dir }, cwd: dir });
  return config;
}
