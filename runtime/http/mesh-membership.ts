/** How nodes become members of a mesh, tell each other who is one, and cease to be. */

import { z } from "zod";
import { RuntimeError } from "../contracts/errors.ts";
import type { Gossip, MeshRecord, Revocation } from "../contracts/membership.ts";
import { gossipSchema, MAX_GOSSIP_BYTES, nodeEntrySchema } from "../files/mesh-schema.ts";
import { assertOwner } from "./auth.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

/** An entry has 16 KB at most, a token four. */
const JOIN_BYTES = 32_768;

const idSchema = z.string().regex(/^[0-9a-f]{32}$/);
const chainSchema = z
  .array(z.object({ public_key: z.string(), signature: z.string() }))
  .describe("Countersignatures, from the node's issuer to the first node of the mesh.");
const recordSchema = z.object({ entry: z.record(z.string(), z.unknown()), admission: chainSchema });
const revocationSchema = z.object({
  node: z.string(),
  root: z.string(),
  keeps: z.array(z.string()),
  at: z.string(),
  by: z.string(),
  admission: chainSchema,
  signature: z.string(),
});
const digestSchema = z.object({
  digest: z
    .array(z.tuple([z.string(), z.number(), z.number()]))
    .describe("Of each member its id, the version of its entry, and its latest heartbeat."),
  revoked: z.array(z.tuple([z.string(), z.string()])),
});
const gossipAnswerSchema = digestSchema.extend({
  records: z.array(recordSchema),
  revocations: z.array(revocationSchema),
});

const departureSchema = z.object({
  id: z.string(),
  name: z.string().nullable().describe("Null: this node does not know it."),
  notified: z.number().describe("Members that know of it by now; the others hear of it from them."),
  admitted: z.array(z.string()).describe("Names of members that the node had admitted: they stay."),
});

export function registerMeshMembership(server: Server, deps: RouteDeps): void {
  registerExchange(server, deps);
  registerControl(server, deps);
}

function registerExchange(server: Server, { app }: RouteDeps): void {
  server.post(
    "/api/mesh/join",
    {
      bodyLimit: JOIN_BYTES,
      config: { access: "public", audit: "mesh.joined" },
      schema: {
        tags: ["mesh"],
        summary: "Let a node join that has a token of a member",
        body: z.strictObject({
          token: z.string().max(4_096).describe("As `cairn mesh token` prints it: for one node, within an hour."),
          entry: nodeEntrySchema.describe("What the node says of itself, signed by it."),
        }),
        response: {
          200: success(
            z.object({
              node_id: z.string().describe("Id under which it was admitted."),
              admission: chainSchema,
              nodes: z.array(recordSchema).describe("The members."),
              revocations: z.array(revocationSchema),
            }),
          ),
          401: errorSchema,
          403: errorSchema,
          409: errorSchema,
        },
      },
    },
    async (request) => {
      const { id, name } = request.body.entry;
      request.auditDetails = { node: id, name };
      const answer = await app.mesh.admit(request.body);
      return ok({
        node_id: answer.node_id,
        admission: [...answer.admission],
        nodes: answer.nodes.map(writtenRecord),
        revocations: answer.revocations.map(writtenRevocation),
      });
    },
  );

  server.post(
    "/api/mesh/gossip",
    {
      bodyLimit: MAX_GOSSIP_BYTES,
      config: { access: "peer" },
      schema: {
        tags: ["mesh"],
        summary: "One exchange between two members: who is a member, who is none any more, and heartbeats",
        body: gossipSchema,
        response: { 200: success(gossipAnswerSchema) },
      },
    },
    async (request) => {
      const { digest, revoked, records, revocations } = await app.mesh.gossip(request.body);
      return ok({
        digest: digest.map(([id, version, beat]): [string, number, number] => [id, version, beat]),
        revoked: revoked.map(([id, mark]): [string, string] => [id, mark]),
        records: records.map(writtenRecord),
        revocations: revocations.map(writtenRevocation),
      } satisfies Gossip);
    },
  );

  server.get(
    "/api/mesh/revocations/:node",
    {
      config: { access: "public" },
      schema: {
        tags: ["mesh"],
        summary: "The revocation of a node, signed by a member: what a revoked node learns of it by",
        params: z.object({ node: idSchema }),
        response: { 200: success(z.object({ revocation: revocationSchema })), 404: errorSchema },
      },
    },
    async (request) => {
      const revocation = await app.mesh.revocationOf(request.params.node);
      if (revocation === null) throw new RuntimeError("RUNTIME_NOT_FOUND", "This node knows of no such revocation.");
      return ok({ revocation: writtenRevocation(revocation) });
    },
  );
}

function registerControl(server: Server, { app }: RouteDeps): void {
  server.post(
    "/api/admin/mesh/tokens",
    {
      config: { access: "admin", audit: "mesh.token_created" },
      schema: {
        tags: ["mesh"],
        summary: "Make a token that lets one node join within an hour; for the owner's token",
        response: {
          200: success(
            z.object({ token: z.string(), url: z.string().describe("Where it is good."), expires_at: z.string() }),
          ),
          409: errorSchema,
        },
      },
    },
    async (request) => {
      assertOwner(request, "lets nodes join");
      const { token, url, expiresAt } = await app.mesh.createToken();
      return ok({ token, url, expires_at: expiresAt.toISOString() });
    },
  );

  server.post(
    "/api/admin/mesh/join",
    {
      config: { access: "admin", audit: "mesh.join" },
      schema: {
        tags: ["mesh"],
        summary: "Join the mesh of the node that has made the token; for the owner's token",
        body: z.strictObject({
          token: z.string().max(4_096),
          url: z
            .url()
            .max(500)
            .optional()
            .describe("Where that node is reached from here; default: as the token says."),
        }),
        response: {
          200: success(z.object({ node_id: z.string(), members: z.array(z.string()).describe("Their names.") })),
          409: errorSchema,
        },
      },
    },
    async (request, reply) => {
      assertOwner(request, "takes this node into a mesh");
      const { token, url } = request.body;
      const { members } = await app.mesh.join(token, url ?? null, clientGone(reply));
      return ok({ node_id: app.node.id, members: members.map(({ name }) => name).sort() });
    },
  );

  server.post(
    "/api/admin/mesh/leave",
    {
      config: { access: "admin", audit: "mesh.left" },
      schema: {
        tags: ["mesh"],
        summary: "Leave the mesh, and give up this node's key; for the owner's token",
        body: z.strictObject({
          force: z.boolean().optional().describe("Also where no other member can be told of it; default false."),
        }),
        response: { 200: success(departureSchema), 409: errorSchema },
      },
    },
    async (request, reply) => {
      assertOwner(request, "takes this node out of its mesh");
      const departure = await app.mesh.leave({ force: request.body.force === true }, clientGone(reply));
      return ok({ ...departure, admitted: [...departure.admitted] });
    },
  );

  server.post(
    "/api/admin/mesh/revoke",
    {
      config: { access: "admin", audit: "mesh.revoked" },
      schema: {
        tags: ["mesh"],
        summary: "Revoke a node for good: no member accepts its key again; for the owner's token",
        body: z.strictObject({ node: z.string().min(1).max(100).describe("Its id, or its name.") }),
        response: { 200: success(departureSchema), 404: errorSchema, 409: errorSchema },
      },
    },
    async (request, reply) => {
      assertOwner(request, "revokes nodes");
      const departure = await app.mesh.revoke(request.body.node, clientGone(reply));
      request.auditDetails = { ...departure };
      return ok({ ...departure, admitted: [...departure.admitted] });
    },
  );
}

function writtenRecord({ entry, admission }: MeshRecord) {
  return { entry: { ...entry, agents: [...entry.agents] }, admission: [...admission] };
}

function writtenRevocation(revocation: Revocation) {
  return { ...revocation, keeps: [...revocation.keeps], admission: [...revocation.admission] };
}
