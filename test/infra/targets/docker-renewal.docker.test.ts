/** A renewal of the database's certificate on real engines: who is connected goes on, and no node is touched. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "dotenv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateAuthority, issueServerTls } from "../../../control/deploy/state/postgres-tls.ts";
import { POSTGRES } from "../../../infra/plan/types.ts";
import { openPostgres } from "../../../runtime/plugins/memory/postgres/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { quietLogger } from "../../support/databases.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type DockerDeployment, prepareDockerDeployment } from "../../support/docker-deployment.ts";
import { docker } from "../../support/docker-lane.ts";
import { freePort } from "../../support/ports.ts";

const YEAR_MS = 365 * 86_400_000;

describe.skipIf(lacks("pulumi-docker", "pulumi-command"))("a renewal on real engines", () => {
  let deployment: DockerDeployment;
  let folder: string;

  beforeAll(async () => {
    deployment = await prepareDockerDeployment();
    folder = await mkdtemp(join(tmpdir(), "cairn-renewal-"));
  }, IMAGES_TIMEOUT_MS);

  afterAll(async () => {
    await deployment?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  test("PostgreSQL shows another certificate, a connected store goes on with what its node has, and the node is not restarted", async () => {
    const { name, stack, input, seen } = deployment;
    const authority = await generateAuthority(new Date(Date.now() - 6 * YEAR_MS));
    const publish = { address: "127.0.0.1", port: await freePort() };
    const applied = async (now: Date) => {
      const { plan, ...rest } = input();
      const postgres = plan.postgres === null ? null : { ...plan.postgres, publish };
      const { pem: tls } = await issueServerTls(authority, now);
      return stack.up({ ...rest, plan: { ...plan, postgres }, tls });
    };
    const node = () => docker("inspect", "--format", "{{.Id}} {{.State.StartedAt}}", `${name}-alpha`);
    const shown = () => docker("exec", `${name}-postgres`, "cat", `${POSTGRES.configuration}/server.pem`);
    await applied(new Date(Date.now() - 6 * YEAR_MS));
    const [before, certificate] = [await node(), await shown()];

    // As the node reaches it, but for the address: its string, and its file.
    const pinned = join(folder, "pinned.pem");
    await writeFile(pinned, await docker("exec", `${name}-alpha`, "cat", POSTGRES.certificate));
    const connection = new URL(parse((await seen()).env)[POSTGRES.variable] ?? "");
    connection.host = `${publish.address}:${publish.port}`;
    connection.searchParams.set("sslrootcert", pinned);
    const store = await openPostgres({ connectionString: connection.href, pool: 2, logger: quietLogger });
    try {
      const read = async () => (await store.query<{ answer: number }>("select answer from renewed")).rows;
      await store.query("create table renewed as select 42 as answer");
      expect(await read()).toEqual([{ answer: 42 }]);
      const steps = await applied(new Date());
      expect(steps).toEqual({
        [`${name}-postgres`]: "replace",
        [`${name}-postgres.files`]: "replace",
        [`${name}-postgres-pids`]: "replace",
      });
      expect(await shown()).not.toBe(certificate);
      await expect.poll(() => read().catch(() => null)).toEqual([{ answer: 42 }]);
    } finally {
      await store.close();
    }
    expect(await node()).toBe(before);
    expect(await seen()).toMatchObject({ starts: 1 });
  });
});
