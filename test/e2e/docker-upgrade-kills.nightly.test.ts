/** `kill -9` of `infra postgres upgrade` at every kind of event that it tells of, on the real engines: the same command finishes it. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { docker } from "../support/docker/containers.ts";
import { ensureNextPostgres, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type TypedStack, typedStack } from "../support/docker/typed-stack.ts";

const phase = (name: string) => `"phase":"${name}"`;
const step = (op: string, state: string) => `"op":"${op}","state":"${state}"`;
/** Three times as long as it takes where other suites share the processors. */
const LONG_MS = 4 * IMAGES_TIMEOUT_MS;
const EVENTS = ["--yes", "--json-events"];

/** Up to here the former server is the one that counts. */
const COPYING = ["preflight", "image", "backup", "start", "pause", "copy", "compare"].map(phase);
/** From here on the new one: one run after the other, each killed further on. */
const SWITCHING = [phase("switch"), step("import", "done"), `"state":"started"`];
const BOTH = ["postgres-data", "postgres-18-data"];

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))("a killed upgrade", () => {
  it("is finished by the same command: PostgreSQL is the next one, no row is lost and nothing is left over", {
    timeout: LONG_MS,
  }, async () => {
    const image = await ensureNextPostgres();
    const stack = await deployed();
    for (const event of COPYING) {
      await stack.killedAt(event, "infra", "postgres", "upgrade", "--to", image, ...EVENTS);
      await stack.noteVolumes();
      await upgraded(stack, image, event);
      await goBack(stack);
    }
  });

  it("is finished as well where it is killed again and again while it switches", { timeout: LONG_MS }, async () => {
    const image = await ensureNextPostgres();
    const stack = await deployed();
    for (const event of SWITCHING) {
      await stack.killedAt(event, "infra", "postgres", "upgrade", "--to", image, ...EVENTS);
      await stack.noteVolumes();
      await stack.cairn("infra", "unlock");
    }
    await upgraded(stack, image, "switch");
    await goBack(stack);
  });
});

async function deployed(): Promise<TypedStack> {
  const stack = await typedStack(["a", "b"]);
  await stack.cairn("infra", "up", "--yes");
  await stack.keepRows();
  return stack;
}

/** By the same command once more, wholly. */
async function upgraded(stack: TypedStack, image: string, event: string): Promise<void> {
  const { cairn } = stack;
  const outcome = await cairn<{ outcome: string }>("infra", "postgres", "upgrade", "--to", image, "--yes");
  expect(outcome, event).toMatchObject({ outcome: "upgraded", from: { major: 17 }, to: { major: 18 } });
  expect(await majorOf(stack), event).toBe("18");
  await stack.expectWhole(["a", "b"], ["a", "b"], BOTH);
  expect(await readdir(join(stack.dir, "infra"))).not.toContain("postgres-upgrade.json");
  expect(await cairn("infra", "preview"), event).toMatchObject({ changes: [], drift: [] });
  expect(await cairn("infra", "status"), event).toMatchObject({ healthy: true });
}

/** The way back that is documented: to the former data, without those of the next major. */
async function goBack(stack: TypedStack): Promise<void> {
  await stack.cairn("infra", "destroy", "--yes");
  await stack.write(50);
  await stack.cairn("infra", "up", "--yes", "--adopt");
  await docker("volume", "rm", `${stack.name}-postgres-18-data`);
  await stack.expectWhole(["a", "b"]);
  expect(await majorOf(stack)).toBe("17");
}

async function majorOf({ name }: TypedStack): Promise<string> {
  const version = await docker(
    "exec",
    `${name}-postgres`,
    ..."psql -U postgres -Atc".split(" "),
    "SHOW server_version",
  );
  return version.split(".")[0] ?? "";
}
