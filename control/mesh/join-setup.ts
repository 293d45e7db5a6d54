/** `init --join HOST`: an ordinary setup, after which the node joins the mesh of HOST at its first start. */

import { UsageError } from "../output/failure.ts";
import { findDeployment } from "../service/deployment.ts";
import type { InitResult } from "../wizard/setup.ts";
import { prepareJoin, requireManual } from "./join.ts";
import { isToken, notAnArgument, readToken, type TokenInput } from "./read-token.ts";

export interface JoinSetup {
  readonly host: string;
  /** For `mesh.name`; undefined: the host's name. */
  readonly name: string | undefined;
  readonly advertise: string | undefined;
  /** Of the setup. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly token: TokenInput;
  readonly setup: () => Promise<InitResult>;
}

/** The token is read before anything is asked or written: without it the setup would be for another node. */
export async function setUpToJoin({ host, name, advertise, flags, token, setup }: JoinSetup): Promise<InitResult> {
  if (isToken(host)) throw notAnArgument("--join takes an address");
  const { target } = flags;
  if (target !== undefined && target !== "manual") requireManual(String(target));
  const read = await readToken(token);
  if (new Date(read.token.expires_at) < new Date())
    throw new UsageError(
      `The token's hour was over at ${read.token.expires_at}.`,
      "Make another one with `cairn mesh token` there.",
    );
  const result = await setup();
  requireManual(result.target);
  const deployment = findDeployment({ dir: result.dir });
  await prepareJoin({ deployment, host, token: read, name, advertise, signal: token.signal });
  return {
    ...result,
    // A node of a mesh serves TLS.
    url: `https://${result.listen}`,
    notes: [
      ...result.notes,
      `The node joins the mesh of ${host} at its first start; \`cairn mesh list\` then shows the members.`,
    ],
  };
}
