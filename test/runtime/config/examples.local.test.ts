/** The configurations that the documentation shows are ones that a node starts with. */

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { bareEnvironment, deploymentDirectory } from "../../support/deployment.ts";

const EXAMPLES = fileURLToPath(new URL("../../../docs/examples", import.meta.url));
const files: string[] = [];
for await (const file of glob("*.yaml", { cwd: EXAMPLES })) files.push(file);

const KEYS = {
  ANTHROPIC_API_KEY: "a-key-of-anthropic",
  OPENAI_API_KEY: "a-key-of-openai",
  GATEWAY_API_KEY: "a-key-of-the-gateway",
  SERVICE_PG_URL: "postgres://cairn:pw@localhost/cairn",
};

test("there are examples", () => expect(files.length).toBeGreaterThanOrEqual(4));

test.each(files)("%s is valid, without a warning", async (file) => {
  const yaml = readFileSync(join(EXAMPLES, file), "utf8");
  const dir = await deploymentDirectory({ yaml });
  // Only what the file refers to: a database that is set and not used is a warning of its own.
  const keys = Object.fromEntries(Object.entries(KEYS).filter(([name]) => yaml.includes(`\${${name}}`)));
  const env = { ...bareEnvironment(), ...keys };
  const { error, warnings } = await inspectConfig({ dir, home: join(dir, "home"), env });
  expect(error).toBeNull();
  expect(warnings).toEqual([]);
});
