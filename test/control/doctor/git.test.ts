/** What git takes of a deployment directory with `git add -A`, asked of the real git. */

import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { secretsIgnored } from "../../../control/doctor/checks/secrets/ignored.ts";
import { applyRepairs } from "../../../control/doctor/repair/apply.ts";
import { readTemplates } from "../../../control/wizard/templates.ts";
import { makeOwnHome } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { MINIMAL } from "../../support/deployment.ts";
import { probeContextWith } from "./probe-context.ts";

const SECRET = [
  ".env",
  "cairn.yaml.bak",
  "cairn.yaml.bak-2",
  "a.backup",
  "backups/lab.backup",
  "node.key",
  "tls.key",
  "capture/token",
  "capture/settings.json",
  "credentials/anthropic.json",
  "store/PG_VERSION",
  "logs/audit/2026-11-01.jsonl",
  "run/node.json",
  "spool/1.json",
  "attachments/1",
  "workspaces/main/user/a.md",
  "models/m/model.onnx",
  "node/node-24.1.0",
  "mesh.json",
  "update.json",
  "home.json",
];
const KEPT = ["cairn.yaml", "workspace/CORE.md", "infra/Pulumi.yaml", ".gitignore"];
const signal = AbortSignal.timeout(60_000);
const GIT = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];

/** A repository with a home that has been used; `home` is its place in the directory. */
async function repository(home: string, gitignore: string | null) {
  const context = await probeContextWith({ probe: { hasTool: async () => true } });
  const { dir } = context.paths;
  const paths = { ...context.paths, home: join(dir, home) };
  const state = SECRET.map((path) => (/^\.env|\.bak/.test(path) ? path : join(home, path)));
  for (const path of [...state, ...KEPT.filter((name) => name !== ".gitignore" && name !== "cairn.yaml")]) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), "secret");
  }
  if (gitignore !== null) await writeFile(join(dir, ".gitignore"), gitignore);
  const git = (...args: string[]) => execFileSync("git", ["-C", dir, ...GIT, ...args], { encoding: "utf8" });
  git("init", "-q");
  const staged = (): string[] => {
    git("add", "-A");
    return git("diff", "--cached", "--name-only", "-z")
      .split("\0")
      .filter((name) => name !== "")
      .sort();
  };
  return { dir, git, staged, check: () => secretsIgnored.run({ ...context, paths }, signal) };
}

describe.skipIf(lacks("git")).each([
  ["", "the home that is the directory"],
  [".cairn", "the directory's own home"],
])("with '%s', %s", (home) => {
  test("the template keeps every secret from git, and nothing else", async () => {
    const { staged, check } = await repository(home, (await readTemplates()).gitignore);
    expect(await check()).toMatchObject({ status: "pass" });
    expect(staged()).toEqual([...KEPT].sort());
  });

  test("doctor names what an older .gitignore lets through, and repairs it", async () => {
    const { dir, staged, check } = await repository(home, "node_modules/\n.env\n*.key\n/store/");
    const outcome = await check();
    expect(outcome).toMatchObject({ status: "warn", message: expect.stringContaining(join(home, "capture/token")) });
    expect(JSON.stringify(outcome)).not.toMatch(/does not ignore [^"]*\.env/);
    const repairs = outcome.status === "warn" ? (outcome.repairs ?? []) : [];
    await applyRepairs(
      repairs.map((repair) => ({ check: secretsIgnored.id, repair })),
      { signal },
    );
    expect(await check()).toMatchObject({ status: "pass" });
    expect(staged()).toEqual([...KEPT].sort());
    expect(await readFile(join(dir, ".gitignore"), "utf8")).toMatch(/^node_modules\/\n\.env\n/);
  });

  test("doctor fails for a token that git has already", async () => {
    const { git, check } = await repository(home, (await readTemplates()).gitignore);
    git("add", "-f", join(home, "capture/token"));
    const outcome = await check();
    expect(outcome).toMatchObject({ status: "fail", fix: expect.stringContaining(join(home, "capture")) });
    // The command works as it is printed, wherever it is pasted.
    const command = "fix" in outcome ? /`(git [^`]+)`/.exec(outcome.fix ?? "")?.[1] : undefined;
    execFileSync("sh", ["-c", command ?? "false"], { cwd: "/" });
    expect(await check()).toMatchObject({ status: "pass" });
  });
});

test.skipIf(lacks("git"))("what a deployment keeps secret is asked for by its own name, where it exists", async () => {
  const context = await probeContextWith({
    yaml: `${MINIMAL}runtime: { tls: { cert: tls/cert, key: tls/secret } }\n`,
    probe: { hasTool: async () => true },
  });
  const { dir } = context.paths;
  for (const path of ["infra/.passphrase", "infra/state/x", "tls/secret", "tls/cert", ".env.local", "site.pem"]) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), "secret");
  }
  const { gitignore } = await readTemplates();
  await writeFile(join(dir, ".gitignore"), gitignore.replace("*.pem\n", ""));
  execFileSync("git", ["-C", dir, ...GIT, "init", "-q"]);
  const outcome = await secretsIgnored.run(context, signal);
  expect(outcome).toMatchObject({
    status: "warn",
    message: expect.stringMatching(/ site\.pem, infra\/\.passphrase, infra\/state, tls\/secret:/),
  });
  const repairs = outcome.status === "warn" ? (outcome.repairs ?? []) : [];
  await applyRepairs(
    repairs.map((repair) => ({ check: secretsIgnored.id, repair })),
    { signal },
  );
  expect(await secretsIgnored.run(context, signal)).toMatchObject({ status: "pass" });
  expect(await readFile(join(dir, ".gitignore"), "utf8")).toMatch(/^\/tls\/secret$/m);
});

test.skipIf(lacks("git"))("a directory's own home is ignored without any .gitignore above it", async () => {
  const { dir, staged } = await repository(".cairn", ".env\n*.bak*\n");
  makeOwnHome(join(dir, ".cairn"), dir);
  expect(staged()).toEqual([...KEPT].sort());
});
