/** The order in which a node ends: replies of a drain get out, and a start that fails leaves nothing behind. */

import { chmod, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Service, Services } from "../../../runtime/host/services.ts";
import { agent } from "../../../runtime/plugins/channels/agent/manifest.ts";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory, MINIMAL } from "../../support/deployment.ts";
import { OWNER_ENV, startedHost } from "../../support/started-host.ts";

afterEach(() => void vi.restoreAllMocks());

async function directory(yaml = MINIMAL): Promise<string> {
  const dir = await deploymentDirectory({ yaml, env: OWNER_ENV });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  return dir;
}

/** Notes the ends of a node's services, and what its channel sends. */
function notedEnds(): string[] {
  const log: string[] = [];
  const noted = (service: Service): Service => ({
    ...service,
    drain: async () => {
      await service.drain?.();
      log.push(`drained ${service.name}`);
    },
    stop: async () => {
      await service.stop?.();
      log.push(`stopped ${service.name}`);
    },
  });
  const { start } = Services.prototype;
  vi.spyOn(Services.prototype, "start").mockImplementation(function (this: Services, services) {
    return start.call(this, services.map(noted));
  });
  const create = agent.create;
  vi.spyOn(agent, "create").mockImplementation(async (needs) => {
    const channel = await create(needs);
    return {
      ...channel,
      async send(message, keep) {
        log.push(`sent ${message.text}`);
        return channel.send(message, keep);
      },
    };
  });
  return log;
}

describe("a node that stops", () => {
  it("ends its turns, sends their replies, and then stops the channels that they go through", async () => {
    const model = await startOpenAiFake({ script: () => ({ text: "late", hold: { gate: "reply" } }) });
    onTestFinished(() => model.close());
    const log = notedEnds();
    const { request, stop } = await startedHost({
      dir: await directory(`version: 1
providers: { fake: { kind: openai-compatible, base_url: "${model.url}/v1", api_key: key, model: cheap } }
agents: { main: { provider: fake } }
`),
    });
    const answered = request("/api/agents/main/messages", { session: "s", text: "hello" }).catch(() => undefined);
    await expect.poll(() => model.requests.length).toBe(1);
    const stopped = stop();
    await expect.poll(() => log).toContain("drained node");
    model.release("reply");
    await stopped;
    await answered;
    const of = (line: string) => log.indexOf(line);
    const order = ["drained node", "drained dispatcher", "drained outbox", "stopped dispatcher", "stopped outbox"];
    const wanted = [...order, "stopped channel agent", "stopped placement"];
    expect(log.filter((line) => wanted.includes(line))).toEqual(wanted);
    expect(of("sent late")).toBeGreaterThan(of("drained node"));
    expect(of("sent late")).toBeLessThan(of("drained outbox"));
  });
});

describe("a node that cannot start", () => {
  it.each(["its port is taken", "its key cannot be read"])("lets go of its home and its store: %s", async (reason) => {
    const dir = await directory();
    const key = join(dir, "home", "node.key");
    let listen = "127.0.0.1:0";
    if (reason === "its port is taken") {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      listen = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    } else {
      await writeFile(key, "no key");
      await chmod(key, 0o600);
    }
    const log = notedEnds();
    await expect(
      startedHost({
        dir,
        prepare: (loaded) => ({ ...loaded, env: { ...loaded.env, SERVICE_LISTEN: listen } }),
      }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^(?:RUNTIME|CONFIG)_/) });
    // The services that had started, the last one first; the one that failed is not among them.
    expect(log).toEqual(
      reason === "its port is taken"
        ? ["drained", "stopped"].flatMap((done) =>
            ["security log", "encoder", "plugins"].map((one) => `${done} ${one}`),
          )
        : [],
    );
    if (reason !== "its port is taken") await rm(key);
    const { request } = await startedHost({ dir });
    expect((await request("/health/ready")).status).toBe(200);
  });
});
