import { glob } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createCli } from "../support/cli.ts";

const FOLDER = fileURLToPath(new URL("../../control/commands", import.meta.url));
const ids: string[] = [];
for await (const file of glob("**/*.ts", { cwd: FOLDER })) ids.push(file.replace(/(\/index)?\.ts$/, ""));

describe("the first page of the help", () => {
  it("begins with what one needs first, and has every command once", async () => {
    const cli = await createCli();
    const { stdout } = await cli.run(["--help"]);
    expect(stdout.indexOf("START HERE")).toBeLessThan(stdout.indexOf("MEMORY"));
    for (const name of new Set(ids.map((id) => id.split("/")[0]))) {
      expect(stdout.match(new RegExp(`^ {2}${name} `, "gm")), name).toHaveLength(1);
    }
  });
});

describe("the help of a command", () => {
  it("of init fits two screens, and has all flags with --all", async () => {
    const cli = await createCli();
    const { stdout } = await cli.run(["init", "--help"]);
    expect(stdout.split("\n").length).toBeLessThanOrEqual(48);
    expect(stdout).toContain("--proxmox-*");
    const all = await cli.run(["init", "--help", "--all"]);
    expect(all.stdout).toContain("--proxmox-bridge=NAME");
    expect(all.stdout).toContain("<options: docker|proxmox|kubernetes|manual>");
  });

  it("says its first line once, and has a usage that can be read", async () => {
    const cli = await createCli();
    for (const id of ids) {
      const { stdout } = await cli.run([...id.split("/"), "--help"]);
      const [first = ""] = stdout.split("\n");
      expect(
        stdout.split("\n").filter((line) => line.trim() === first.trim()),
        id,
      ).toHaveLength(1);
      expect(stdout, id).toMatch(new RegExp(`\\$ cairn ${id.replaceAll("/", " ")}\\b`));
      expect(stdout, id).not.toContain("| ]");
      expect(stdout, id).not.toContain("Format output as json");
      // Values without a word for what they are.
      expect(stdout, id).not.toMatch(/<value>|=<option>/);
    }
  }, 60_000);
});

it.each([["-v"], ["--version"]])("`cairn %s` says the version", async (flag) => {
  const cli = await createCli();
  expect((await cli.run([flag])).stdout).toMatch(/^cairn\S* \d+\.\d+\.\d+ \(node /);
});
