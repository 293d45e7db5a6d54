/** The operator's week of docs/examples on Proxmox; the host is the tests' own, with `pct` played and real containers behind it. */

import { execa } from "execa";
import { afterAll, beforeAll, describe, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { ensureNextPostgres, ensureTestImages, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type ProxmoxTestHost, startProxmox } from "../support/proxmox/host.ts";
import { typeWeek, WEEK } from "../support/week.ts";

describe.skipIf(lacks("lxc", "docker-images", "pulumi-command"))("an operator's week", () => {
  let host: ProxmoxTestHost;
  beforeAll(async () => {
    host = await startProxmox();
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => host?.stop(), IMAGES_TIMEOUT_MS);

  it("on Proxmox goes as it is printed in the documents", { timeout: 3 * IMAGES_TIMEOUT_MS }, async () => {
    const images = await ensureTestImages();
    const next = await ensureNextPostgres();
    const { ssh, dataDir } = host;
    const { template, storage, bridge, gateway } = host.plan();
    onTestFinished(async () => {
      const names = [`${WEEK}-proxmox:1`, `${WEEK}-proxmox:2`];
      await execa("docker", ["image", "rm", "--force", ...names], { reject: false });
    });
    await typeWeek("proxmox.sh", {
      PVE_HOST: ssh.host,
      PVE_PORT: String(ssh.port),
      PVE_KEY: ssh.identityFile,
      PVE_HOST_KEY: ssh.hostKey,
      TEMPLATE: template,
      STORAGE: storage,
      BRIDGE: bridge,
      DATA_DIR: dataDir,
      NETWORK: gateway?.replace(/\.1$/, "") ?? "",
      BASE_IMAGE: images.node,
      POSTGRES_IMAGE: images.postgres,
      NEXT_POSTGRES_IMAGE: next,
    });
  });
});
