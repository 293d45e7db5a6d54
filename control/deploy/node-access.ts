/** What a rollout asks of the nodes of a stack, each through the target's own way to it. */

import type { Client } from "../../runtime/client/index.ts";
import { gate } from "../rollout/gate.ts";
import { defaultAgent } from "../service/connect.ts";
import { type Deployment, readToken } from "../service/deployment.ts";
import { clientOf, recordedPin } from "../service/node-client.ts";
import { UNKNOWN_VERSION } from "./images/inspect.ts";
import { readRecord } from "./operations/record.ts";
import type { NodeAccess, NodeAddress } from "./operations/services.ts";

/** Milliseconds beyond what a node is given to let its turns end. */
const ANSWER_MS = 30_000;

export function createNodeAccess(deployment: Deployment): NodeAccess {
  async function withNode<T>(
    { driver, node, member = node }: NodeAddress,
    signal: AbortSignal,
    work: (client: Client) => Promise<T>,
  ): Promise<T> {
    const connection = await driver.connect(member, signal);
    try {
      const [token, record] = await Promise.all([readToken(deployment), readRecord(deployment.dir)]);
      return await work(clientOf({ url: connection.url, certificate: recordedPin(record, node) }, { token }));
    } finally {
      await connection.close();
    }
  }
  return {
    call: withNode,
    gate: (address, signal) =>
      withNode(address, signal, async (client) => {
        const image = address.project.plan.nodes.find(({ name }) => name === address.node)?.image;
        const version = image == null || image.version === UNKNOWN_VERSION ? null : image.version;
        await gate(client, await defaultAgent(deployment, client), version, signal);
      }),
    pause: (address, seconds, signal) =>
      withNode(address, signal, (client) =>
        client.drain({ wait: true, resumeAfterS: seconds, signal, timeoutMs: seconds * 1000 + ANSWER_MS }),
      ),
    resume: (address, signal) => withNode(address, signal, (client) => client.resume({ signal, timeoutMs: ANSWER_MS })),
  };
}
