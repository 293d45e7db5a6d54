import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { connectDeployed } from "../../../control/service/deployed-node.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

// The files of the lane share their modules: none of this one is what another has imported, or the other way round.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

const connect = vi.hoisted(() => vi.fn(async () => ({ url: "http://127.0.0.1:1", close: async () => {} })));
vi.mock("../../../control/deploy/drivers/index.ts", () => ({ createDriver: async () => ({ connect }) }));

it("a token that cannot be read opens no tunnel to the node, which would stay open", async () => {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "infra"));
  await writeFile(
    join(dir, "cairn.yaml"),
    "version: 1\nagents: { main: {} }\nproviders: { offline: {} }\ndeployment: { name: fleet, target: docker }\n",
  );
  await writeFile(join(dir, ".env"), "SERVICE_API_TOKEN=op://vault/cairn/token\n", { mode: 0o600 });
  const node = { name: "main", workload: "fleet-main", place: "ssh://one", image: "i", url: null };
  const record = {
    schema: 1,
    stack: "fleet",
    target: "docker",
    backend: "file://./state",
    deployed_at: "2030-01-01T00:00:00.000Z",
    version: "1.0.0",
    nodes: [node],
    data: [],
  };
  await writeFile(join(dir, "infra", "stack.json"), JSON.stringify(record));
  const { signal } = new AbortController();
  const given = { readSecret: async () => "cairn_token" };
  await expect(connectDeployed({ dir, home: join(dir, "home") }, signal, given)).rejects.toMatchObject({
    code: "CONFIG_SECRET_UNRESOLVED",
  });
  expect(connect).not.toHaveBeenCalled();
  await connectDeployed({ dir, home: join(dir, "home") }, signal, { ...given, token: "cairn_token" });
  expect(connect).toHaveBeenCalledOnce();
});
