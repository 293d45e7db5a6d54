import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "@oclif/core";
import { describe, expect, it } from "vitest";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import { RESULT_SCHEMAS } from "../../../control/output/result-schemas/index.ts";

const FOLDER = fileURLToPath(new URL("../../../control/commands", import.meta.url));

/** Commands whose output is no result: a protocol is spoken on it. */
const WITHOUT_RESULT = ["mcp", "exec"];

const files = (await readdir(FOLDER, { recursive: true })).filter((name) => name.endsWith(".ts")).sort();
const words = (file: string): string[] =>
  file
    .replace(/\.ts$/, "")
    .split("/")
    .filter((word) => word !== "index");

/** Everything about a command that somebody's script may rely on, one line each. */
async function describeCommand(file: string): Promise<string> {
  const { default: command }: { default: typeof Command } = await import(join(FOLDER, file));
  const args = Object.entries(command.args).map(([name, { required, options, default: value }]) =>
    line(`  ${name}`, { required, options, default: value }),
  );
  const flags = Object.entries({ ...command.baseFlags, ...command.flags })
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, flag]) => {
      const { type, char, required, multiple, options, default: value } = flag as Flag;
      const { allowNo, dependsOn, exclusive, hidden } = flag as Flag;
      return line(`  --${name}`, {
        type,
        char,
        required,
        multiple,
        options,
        default: value,
        allowNo,
        dependsOn,
        exclusive,
        hidden,
      });
    });
  const json = command.enableJsonFlag ? ["  --json"] : [];
  return [words(file).join(" "), ...args, ...flags, ...json].join("\n");
}

interface Flag {
  readonly type: string;
  readonly char?: string;
  readonly required?: boolean;
  readonly multiple?: boolean;
  readonly options?: readonly string[];
  readonly default?: unknown;
  readonly allowNo?: boolean;
  readonly dependsOn?: readonly string[];
  readonly exclusive?: readonly string[];
  readonly hidden?: boolean;
}

/** Functions are computed when the command runs; what is not set is not shown. */
function line(name: string, facts: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(facts).flatMap(([key, value]) => {
    if (value === undefined || value === false || (key === "type" && value === "option")) return [];
    if (value === true) return [key];
    return [`${key}=${typeof value === "function" ? "computed" : JSON.stringify(value)}`];
  });
  return [name, ...shown].join(" ");
}

describe("the commands", () => {
  // A change here is seen by everybody who scripts: `vitest run --project unit -u` on this file takes it over.
  it("and their flags are those of commands.snapshot", async () => {
    const described = await Promise.all(files.map(describeCommand));
    await expect(`${described.sort().join("\n\n")}\n`).toMatchFileSnapshot("commands.snapshot");
  });

  it.each(files.map((file) => words(file).join("-")).filter((name) => !WITHOUT_RESULT.includes(name)))(
    "%s has a published schema of its result",
    (name) => {
      const published = new Set([...Object.keys(RESULT_SCHEMAS), ...Object.keys(SCHEMAS), "doctor"]);
      expect(published).toContain(name);
    },
  );

  it("have no schema of a command that is gone", () => {
    const names = new Set(files.map((file) => words(file).join("-")));
    expect(Object.keys(RESULT_SCHEMAS).filter((name) => !names.has(name))).toEqual([]);
  });
});
