/** The shapes in which nodes write down and pass on what they know of the mesh, in zod, with bounds: what comes in is from others. */

import { z } from "zod";
import {
  type Admission,
  type Gossip,
  MAX_MEMBERS,
  MAX_REVOCATIONS,
  type MeshRecord,
  type Revocation,
} from "../contracts/membership.ts";
import { NODE_STATUSES, type NodeEntry } from "../contracts/node-entry.ts";

/** Records of one message. */
export const MAX_RECORDS = 200;
/** Bytes of the records and revocations of one message; those of a revocation of a full mesh are a third of it. */
export const MAX_NEWS_BYTES = 512 * 1024;
/** Of a whole one: besides, it names every member and every revoked node. */
export const MAX_GOSSIP_BYTES = MAX_NEWS_BYTES + 1024 * 1024;
const MAX_ENTRY_BYTES = 16_384;

const id = z.string().regex(/^[0-9a-f]{32}$/);
const key = z.string().max(100);
const signature = z.string().max(100);
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Loose: a later version says more, and its signature covers that, too. */
export const nodeEntrySchema: z.ZodType<NodeEntry> = z
  .looseObject({
    id,
    name: z.string().min(1).max(63),
    public_key: key,
    version: count,
    release: z.string().max(100),
    schema: count,
    address: z.string().max(500).nullable(),
    certificate_sha256: z.string().max(100).nullable(),
    next_certificate_sha256: z.string().max(100).nullable(),
    agents: z.array(z.string().max(100)).max(1_000),
    status: z.enum(NODE_STATUSES),
    made_at: z.string().max(40),
    signature,
  })
  .refine((entry) => JSON.stringify(entry).length <= MAX_ENTRY_BYTES, { error: "is too large" });

export const admissionSchema: z.ZodType<Admission> = z.array(z.strictObject({ public_key: key, signature })).max(16);

export const recordSchema: z.ZodType<MeshRecord> = z.strictObject({
  entry: nodeEntrySchema,
  admission: admissionSchema,
});

export const revocationSchema: z.ZodType<Revocation> = z.strictObject({
  node: id,
  root: id,
  keeps: z.array(id).max(MAX_MEMBERS),
  at: z.string().max(40),
  by: key,
  admission: admissionSchema,
  signature,
});

export const gossipSchema: z.ZodType<Gossip> = z.strictObject({
  digest: z.array(z.tuple([id, count, count])).max(MAX_MEMBERS),
  revoked: z.array(z.tuple([id, z.string().max(12)])).max(MAX_REVOCATIONS),
  records: z.array(recordSchema).max(MAX_RECORDS),
  revocations: z.array(revocationSchema).max(MAX_RECORDS),
});

export const joinAnswerSchema = z.object({
  node_id: id,
  admission: admissionSchema,
  nodes: z.array(recordSchema).max(MAX_MEMBERS),
  revocations: z.array(revocationSchema).max(MAX_REVOCATIONS),
});
