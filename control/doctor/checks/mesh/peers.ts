/**
 * Whether the other nodes live, agree, and can be reached: as the node that answers sees them. Without one a connection to each
 * that is written down is opened, and nothing is sent.
 */

import { connect } from "node:net";
import type { Fleet } from "../../../mesh/fleet.ts";
import { type Check, type Outcome, pass, skip, Unavailable, warn } from "../check.ts";
import { type Member, readMembers, requireMesh } from "./members.ts";

const DEFAULT_PORT = 7433;

export const meshPeers: Check = {
  id: "mesh.peers",
  subject: "whether the other nodes live and can be reached",
  async run(context, signal) {
    const fleet = await context.fleet().catch((error: unknown) => {
      if (error instanceof Unavailable) return null;
      throw error;
    });
    // Nodes that share a database are a fleet without a mesh, too.
    if (fleet !== null && fleet.members.length > 1) return check(fleet);
    await requireMesh(context);
    const { mesh } = await context.config();
    const members = await readMembers(context).catch(() => {
      throw new Unavailable("The registry cannot be read.", ["mesh.registry"]);
    });
    const seeds = mesh.seeds.map((address): Member => ({ name: address, address }));
    const peers = [...(members ?? []).filter(({ name }) => name !== mesh.name), ...seeds].filter(
      ({ address }) => address !== null && address !== mesh.advertise,
    );
    const unique = [...new Map(peers.map((peer) => [peer.address, peer])).values()];
    if (unique.length === 0) return skip("No other node is known.");
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(context.probeMs)]);
    const answers = await Promise.all(
      unique.map(async (peer) => ({ peer, there: await reaches(peer.address ?? "", deadline) })),
    );
    const unreachable = answers.filter(({ there }) => !there).map(({ peer }) => peer.name);
    if (unreachable.length === 0) return pass(`All ${unique.length} other nodes can be reached.`);
    return warn(
      `${unreachable.length} of ${unique.length} other nodes cannot be reached: ${unreachable.join(", ")}.`,
      "Start them, or check the network between; mesh.json in the home directory has what the node knows of them.",
    );
  },
};

function check({ members, problems }: Fleet): Outcome {
  const [first] = problems;
  const others = members.length - 1;
  if (first === undefined)
    return pass(others === 1 ? "The other node is well." : `The ${others} other nodes are well.`);
  const said = problems.map(({ node, message }) => `${node}: ${message.replace(/[.]$/, "")}`);
  return warn(`${said.join("; ")}.`, `${first.hint} \`cairn mesh status\` shows all nodes.`);
}

function reaches(address: string, signal: AbortSignal): Promise<boolean> {
  const url = URL.parse(/^https?:\/\//.test(address) ? address : `https://${address}`);
  if (url === null) return Promise.resolve(false);
  const written = /:\d+(?:\/|$)/.test(address.replace(/^https?:\/\//, ""));
  const port = url.port !== "" ? Number(url.port) : written ? (url.protocol === "http:" ? 80 : 443) : DEFAULT_PORT;
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port });
    const end = (there: boolean): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(there);
    };
    const onAbort = (): void => end(false);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
