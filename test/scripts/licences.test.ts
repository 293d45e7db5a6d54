import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

it.each([
  ["MIT", true],
  ["(MIT OR CC0-1.0)", true],
  ["GPL-3.0-only OR Apache-2.0", true],
  ["MIT AND BSD-3-Clause", true],
  ["MIT AND GPL-3.0-only", false],
  ["AGPL-3.0-or-later", false],
  ["SEE LICENSE IN LICENSE.md", false],
  [undefined, false],
])("a package under %s passes: %s", (license, passes) => {
  const result = checkLicences({ "node_modules/a": { version: "1.0.0", license } });
  expect(result.status).toBe(passes ? 0 : 1);
  if (!passes) expect(result.stderr).toContain("node_modules/a@1.0.0");
});

it("leaves out packages that only development needs", () => {
  expect(checkLicences({ "node_modules/a": { version: "1.0.0", license: "GPL-3.0-only", dev: true } }).status).toBe(0);
});

function checkLicences(packages: object) {
  const folder = mkdtempSync(join(tmpdir(), "cairn-licences-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const lockfile = join(folder, "package-lock.json");
  writeFileSync(lockfile, JSON.stringify({ packages: { "": { name: "cairn" }, ...packages } }));
  return spawnSync(process.execPath, [join(ROOT, "scripts/licences.ts"), lockfile], { encoding: "utf8" });
}
