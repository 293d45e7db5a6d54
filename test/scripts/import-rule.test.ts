import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

/** A small house in which every room is there. */
const HOUSE = {
  "runtime/contracts/a.ts": "export type A = string;",
  "runtime/domain/a.ts": 'import type { A } from "../contracts/a.ts"; export const a: A = "a";',
  "runtime/app/a.ts": 'import { a } from "../domain/a.ts"; export const b = a;',
  "runtime/plugins/tools/one/index.ts": 'import { b } from "../../../app/a.ts"; export const one = b;',
  "runtime/plugins/tools/shared.ts": "export const shared = 1;",
  "runtime/plugins/providers/two/index.ts": "export const two = 2;",
  "runtime/http/a.ts": 'import { b } from "../app/a.ts"; export const http = b;',
  "runtime/workers/a.ts": 'import { b } from "../app/a.ts"; export const workers = b;',
  "runtime/config/index.ts": 'import type { A } from "../contracts/a.ts"; export type Config = A;',
  "runtime/testing/index.ts": 'import type { A } from "../contracts/a.ts"; export type Checked = A;',
  "runtime/client/index.ts": 'import type { A } from "../contracts/a.ts"; export type Client = A;',
  "runtime/host.ts":
    'import { one } from "./plugins/tools/one/index.ts"; import { http } from "./http/a.ts"; export { one, http };',
  "infra/plan.ts": 'import type { Config } from "../runtime/config/index.ts"; export type Plan = Config;',
  "control/a.ts":
    'import type { Plan } from "../infra/plan.ts"; import type { Client } from "../runtime/client/index.ts"; export type C = Plan & Client;',
};

/** File that breaks a rule -> what it imports, and the rule. */
const BREAKERS: Readonly<Record<string, readonly [target: string, rule: string]>> = {
  "runtime/contracts/x-domain.ts": ["../domain/a.ts", "contracts-imports"],
  "runtime/domain/x-app.ts": ["../app/a.ts", "domain-imports"],
  "runtime/domain/x-file-system.ts": ["node:fs/promises", "domain-pure"],
  "runtime/app/x-plugin.ts": ["../plugins/tools/one/index.ts", "app-imports"],
  "runtime/app/x-config.ts": ["../config/index.ts", "app-imports"],
  "runtime/app/x-development-package.ts": ["vitest", "no-dev-packages"],
  "runtime/plugins/tools/x-other-kind.ts": ["../providers/two/index.ts", "plugins-imports"],
  "runtime/plugins/tools/x-http.ts": ["../../http/a.ts", "plugins-imports"],
  "runtime/http/x-host.ts": ["../host.ts", "http-imports"],
  "runtime/workers/x-plugin.ts": ["../plugins/tools/one/index.ts", "workers-imports"],
  "runtime/testing/x-app.ts": ["../app/a.ts", "testing-imports"],
  "runtime/client/x-app.ts": ["../app/a.ts", "client-imports"],
  "runtime/host/x-infra.ts": ["../../infra/plan.ts", "host-imports"],
  "runtime/x-control.ts": ["../control/a.ts", "host-imports"],
  "control/x-service.ts": ["../runtime/app/a.ts", "control-imports"],
  "control/x-nowhere.ts": ["./nowhere.ts", "resolvable"],
  "infra/x-control.ts": ["../control/a.ts", "infra-imports"],
};

describe("the import rule", () => {
  const house = mkdtempSync(join(tmpdir(), "cairn-imports-"));
  let broken: ReadonlyMap<string, readonly string[]>;

  beforeAll(() => {
    const breakers = Object.entries(BREAKERS).map(([file, [target]]) => [file, `export * from "${target}";`]);
    build(house, {
      ...HOUSE,
      ...Object.fromEntries(breakers),
      "runtime/domain/x-type.ts": 'import type { b } from "../app/a.ts"; export type B = typeof b;',
      "runtime/app/x-cycle.ts": 'import { d } from "./x-cycle-back.ts"; export const c = () => d;',
      "runtime/app/x-cycle-back.ts": 'import { c } from "./x-cycle.ts"; export const d = () => c;',
      "runtime/plugins/tools/one/same-kind.ts": 'export * from "../shared.ts";',
    });
    broken = violations(house);
  });

  afterAll(() => rmSync(house, { recursive: true, force: true }));

  it.each(Object.entries(BREAKERS))("refuses %s", (file, [, rule]) => {
    expect(broken.get(file)).toEqual([rule]);
  });

  it("counts imports of types", () => {
    expect(broken.get("runtime/domain/x-type.ts")).toEqual(["domain-imports"]);
  });

  it("refuses cycles", () => {
    const cycles = [...broken].filter(([, rules]) => rules.includes("no-cycles")).map(([file]) => file);
    expect(cycles).not.toEqual([]);
    for (const file of cycles) expect(file).toMatch(/x-cycle/);
  });

  it("accepts everything that points inward, and plugins of one kind that share files", () => {
    expect([...broken.keys()].filter((file) => !file.includes("/x-"))).toEqual([]);
  });
});

function build(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  for (const name of ["package.json", "tsconfig.json", "node_modules", ".dependency-cruiser.cjs"]) {
    symlinkSync(join(ROOT, name), join(folder, name));
  }
}

/** Files below `folder` that break a rule, with the names of the rules. */
function violations(folder: string): Map<string, string[]> {
  const cruiser = join(ROOT, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");
  const args = ["--config", ".dependency-cruiser.cjs", "--output-type", "json", "runtime", "control", "infra"];
  const result = spawnSync(process.execPath, [cruiser, ...args], { cwd: folder, encoding: "utf8" });
  const report: { summary: { violations: { from: string; rule: { name: string } }[] } } = JSON.parse(result.stdout);
  const found = new Map<string, string[]>();
  for (const { from, rule } of report.summary.violations) found.set(from, [...(found.get(from) ?? []), rule.name]);
  return found;
}
