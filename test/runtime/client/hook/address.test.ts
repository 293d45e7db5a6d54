import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeAddress } from "../../../../runtime/client/hook/settings.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";

const SETTINGS = { version: 1, base_url: "http://127.0.0.1:1", local: true, token_id: null } as const;
const url = "https://127.0.0.1:1";

test.each([
  ["makes its certificate itself", { certificate_sha256: "AA", next_certificate_sha256: "BB" }, ["AA", "BB"]],
  ["was given one", { certificate_sha256: "AA", next_certificate_sha256: null }, "AA"],
  ["is of an earlier version", { certificate_sha256: "AA" }, "AA"],
  ["is known by authorities", { certificate_sha256: null, next_certificate_sha256: null }, undefined],
])("the capture hook accepts what a node of this machine announces that %s", async (_which, announced, certificate) => {
  const home = await temporaryDirectory();
  await mkdir(join(home, "run"));
  await writeFile(join(home, "run", "node.json"), JSON.stringify({ url, ...announced }));
  expect(await nodeAddress(home, SETTINGS)).toEqual({ baseUrl: url, certificate });
});
