import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

it("passes what may be used beside our own licence, and names what may not", () => {
  const passing = ["MIT", "(MIT OR CC0-1.0)", "GPL-3.0-only OR Apache-2.0", "MIT AND BSD-3-Clause"];
  expect(checkLicences(packagesUnder(passing))).toMatchObject({ status: 0, stderr: "" });

  const refused = ["MIT AND GPL-3.0-only", "AGPL-3.0-or-later", "SEE LICENSE IN LICENSE.md", undefined];
  const { status, stderr } = checkLicences(packagesUnder(refused));
  expect(status).toBe(1);
  for (const at of refused.keys()) expect(stderr).toContain(`node_modules/p${at}@1.0.0`);
});

it("leaves out packages that only development needs", () => {
  expect(checkLicences({ "node_modules/a": { version: "1.0.0", license: "GPL-3.0-only", dev: true } }).status).toBe(0);
});

it("looks at packages that the build bundles, and at what those bring along", () => {
  const bundled = { version: "1.0.0", license: "MIT", dev: true, dependencies: { a: "*" } };
  const { status, stderr } = checkLicences({
    "node_modules/openai": bundled,
    "node_modules/a": { version: "1.0.0", license: "GPL-3.0-only", dev: true },
  });
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining("node_modules/a@1.0.0") });
});

function packagesUnder(licences: readonly (string | undefined)[]) {
  return Object.fromEntries(licences.map((license, at) => [`node_modules/p${at}`, { version: "1.0.0", license }]));
}

function checkLicences(packages: object) {
  const folder = mkdtempSync(join(tmpdir(), "cairn-licences-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const lockfile = join(folder, "package-lock.json");
  writeFileSync(lockfile, JSON.stringify({ packages: { "": { name: "cairn" }, ...packages } }));
  return spawnSync(process.execPath, [join(ROOT, "scripts/licences.ts"), lockfile], { encoding: "utf8" });
}
