/** Routes by which a node joins a mesh, lets others in, and takes them out. */

import { type Connection, call } from "./http.ts";
import type { CallOptions, Departure, JoinResult, JoinTokenResult } from "./types.ts";

/** Longer than the node gives the other one. */
const JOIN_MS = 45_000;

export function meshCalls(connection: Connection) {
  const post = <Result>(path: string, json: object, given?: CallOptions): Promise<Result> =>
    call<Result>(connection, `/api/admin/mesh/${path}`, { method: "POST", json, ...given });
  return {
    createJoinToken: (given?: CallOptions) => post<JoinTokenResult>("tokens", {}, given),
    joinMesh: (token: string, { url, ...given }: CallOptions & { readonly url?: string | undefined } = {}) =>
      post<JoinResult>("join", { token, ...(url === undefined ? {} : { url }) }, { timeoutMs: JOIN_MS, ...given }),
    leaveMesh: ({ force = false, ...given }: CallOptions & { readonly force?: boolean } = {}) =>
      post<Departure>("leave", { force }, given),
    revokeNode: (node: string, given?: CallOptions) => post<Departure>("revoke", { node }, given),
  };
}
