/** How a node becomes a member: a token of a member lets it in, and that member countersigns it. Both sides. */

import { RuntimeError } from "../../contracts/errors.ts";
import type { Standing } from "../../contracts/health-report.ts";
import { readJoinToken, writeJoinToken } from "../../contracts/join-token.ts";
import { type JoinAnswer, MAX_MEMBERS, type MeshRecord } from "../../contracts/membership.ts";
import type { NodeEntry } from "../../contracts/node-entry.ts";
import type { Logger } from "../../contracts/ports.ts";
import { assertWithinSkew } from "../../contracts/version-skew.ts";
import { admit, idOf, isChainGenuine, rootOf, type SigningKeys } from "../../domain/mesh/admission.ts";
import { merge } from "../../domain/mesh/merge.ts";
import { isGenuine } from "../../domain/mesh/node-entry.ts";
import { joinAnswerSchema } from "../../files/mesh-schema.ts";
import type { MeshCalls } from "./gossip.ts";
import { pinsOf } from "./gossip.ts";
import type { JoinTokens } from "./join-tokens.ts";
import type { MeshStore, StoredMesh } from "./mesh-store.ts";
import { type MeshView, ownAdmission, ownKey, remoteMembers, standingOf } from "./mesh-view.ts";

export interface Joining {
  /** RUNTIME_CONFLICT where this node cannot be reached, or may admit nobody. */
  createToken(): Promise<{ readonly token: string; readonly expiresAt: Date; readonly url: string }>;
  /**
   * Admits who comes with a token. RUNTIME_UNAUTHORIZED for a token that is used, over or of another mesh, RUNTIME_FORBIDDEN for a
   * revoked node, RUNTIME_CONFLICT for a name that is taken, RUNTIME_VERSION_SKEW.
   */
  admit(request: { readonly token: string; readonly entry: NodeEntry }): Promise<JoinAnswer>;
  /**
   * Joins the mesh of the node that made the token. `url`: where that is reached from here, in place of the token's; by TLS.
   * RUNTIME_CONFLICT where this node is in a mesh; the refusals of the other node, and those of the way there.
   */
  join(token: string, url: string | null, signal: AbortSignal): Promise<{ readonly members: readonly NodeEntry[] }>;
}

export interface JoiningDeps {
  readonly view: MeshView;
  readonly store: Pick<MeshStore, "enter">;
  readonly tokens: JoinTokens;
  readonly calls: Pick<MeshCalls, "join">;
  readonly own: { readonly id: string } & SigningKeys;
  /** What this node says of itself now. */
  readonly ownEntry: () => Promise<NodeEntry>;
  /** 32 random bytes, base64url. */
  readonly newSecret: () => string;
  /** Members that live. */
  readonly living: () => Promise<readonly NodeEntry[]>;
  readonly logger: Logger;
  /** A member was admitted: it lives. */
  onAdmitted(entry: NodeEntry): void;
  /** This node is in another mesh. */
  onEntered(): Promise<void>;
}

const NEW_TOKEN = "`cairn mesh token` there makes another one: a token is for one node and one hour.";

export function createJoining(deps: JoiningDeps): Joining {
  const { view, own, logger } = deps;

  async function assertMember(): Promise<StoredMesh> {
    const seen = await view.refresh();
    const standing = standingOf(seen, own.id);
    if (standing === "alone" || standing === "member") return seen;
    throw new RuntimeError("RUNTIME_CONFLICT", `This node may admit nobody: it is ${WORDS.get(standing)}.`);
  }

  return {
    async createToken() {
      await assertMember();
      const entry = await deps.ownEntry();
      const pins = pinsOf(entry);
      if (entry.address === null || pins.length === 0) {
        throw new RuntimeError("RUNTIME_CONFLICT", "No node could reach this one: it has no address for others.", {
          hint: "Set mesh.advertise to the address under which other nodes reach it, and restart it.",
        });
      }
      const secret = deps.newSecret();
      const { expiresAt } = await deps.tokens.create(secret);
      const url = entry.address;
      const token = writeJoinToken({ url, node: own.id, pins, expires_at: expiresAt.toISOString(), secret });
      return { token, expiresAt, url };
    },

    async admit({ token, entry }) {
      const read = readJoinToken(token);
      if (read === null) throw invalidToken();
      // First: who has no token learns nothing of this node and the members, and costs one look.
      if (!(await deps.tokens.admits(read.secret, entry.id))) throw invalidToken();
      const seen = await assertMember();
      if (!isGenuine(entry))
        throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The entry is not signed by the node that it describes.");
      assertWelcome(entry, seen);
      assertWithinSkew(entry.release, await deps.living());
      // Last: a refusal for another reason leaves the token as it is.
      if (!(await deps.tokens.consume(read.secret, entry.id))) throw invalidToken();
      const record = { entry, admission: admit(entry.public_key, own, ownAdmission(seen, own.id) ?? []) };
      const after = await view.save({ records: [record], revocations: [], removed: [] });
      deps.onAdmitted(entry);
      logger.info({ node: entry.id, name: entry.name }, "a node was admitted to the mesh");
      return {
        node_id: entry.id,
        admission: record.admission,
        nodes: [...after.mesh.records.values()],
        revocations: [...after.mesh.revocations.values()],
      };
    },

    async join(token, url, signal) {
      const read = readJoinToken(token);
      if (read === null) {
        throw new RuntimeError("RUNTIME_INVALID_REQUEST", "That is no token for joining, or a part of one.", {
          hint: "It is one line that begins with cairn-join-, as `cairn mesh token` there prints it.",
        });
      }
      const at = url ?? read.url;
      if (!at.startsWith("https://"))
        throw new RuntimeError("RUNTIME_INVALID_REQUEST", `A node joins by https:// alone, not at ${at}.`);
      assertFree(await view.refresh());
      const entry = await deps.ownEntry();
      const said = await deps.calls.join(at, read.pins, { token: token.trim(), entry }, signal);
      const { admission, nodes, revocations } = assertAnswer(said, read.node);
      const root = rootOf(ownKey(own), admission);
      const empty = { root, records: new Map<string, MeshRecord>(), revocations: new Map() };
      const { records, revocations: genuine } = merge(empty, { records: nodes, revocations }, own.id);
      const host = records.find((record) => record.entry.id === read.node)?.entry;
      if (host === undefined) throw badAnswer("it does not say who it is");
      assertWithinSkew(entry.release, [host]);
      await deps.store.enter({ root, own: own.id, admission, records, revocations: genuine });
      await view.refresh();
      for (const record of records) deps.onAdmitted(record.entry);
      logger.info({ members: records.length, host: host.name }, "this node has joined a mesh");
      await deps.onEntered();
      return { members: records.map((record) => record.entry) };
    },
  };

  function assertWelcome({ id, name }: NodeEntry, seen: StoredMesh): void {
    if (seen.mesh.revocations.has(id)) {
      throw new RuntimeError(
        "RUNTIME_FORBIDDEN",
        `The node ${name} was revoked, or has left: its key is no member's again.`,
        {
          hint: "`cairn mesh leave` gives it a new identity; restart it then, and join with another token.",
        },
      );
    }
    if (id === own.id) throw new RuntimeError("RUNTIME_CONFLICT", "A node cannot join itself.");
    if (seen.mesh.records.size >= MAX_MEMBERS && !seen.mesh.records.has(id))
      throw new RuntimeError(
        "RUNTIME_CONFLICT",
        `The mesh has ${MAX_MEMBERS} members: that is as many as it may have.`,
      );
    const shared = seen.nodes.find((node) => node.shared && node.entry.id === id);
    if (shared !== undefined)
      throw new RuntimeError("RUNTIME_CONFLICT", `The node ${name} shares the database with this one: it is a member.`);
    const namesake = seen.nodes.find((node) => node.entry.name === name && node.entry.id !== id);
    if (namesake === undefined) return;
    throw new RuntimeError("RUNTIME_CONFLICT", `A node named ${name} is a member already.`, {
      hint: `Join under another name (--name), or give that one another mesh.name. \`cairn mesh revoke ${name}\` there removes one that is gone for good.`,
    });
  }

  function assertFree(seen: StoredMesh): void {
    const standing = standingOf(seen, own.id);
    if (standing === "left" || standing === "revoked") {
      throw new RuntimeError(
        "RUNTIME_CONFLICT",
        `This node is ${WORDS.get(standing)}, and its key is no member's again.`,
        {
          hint: "`cairn mesh leave` gives it a new identity; restart it then, and join.",
        },
      );
    }
    const remote = remoteMembers(seen);
    if (remote.length === 0) return;
    const names = remote.slice(0, 3).map(({ entry }) => entry.name);
    throw new RuntimeError("RUNTIME_CONFLICT", `This node is in a mesh already, with ${names.join(", ")}.`, {
      hint: "`cairn mesh leave` takes it out of there.",
    });
  }

  function assertAnswer(said: unknown, host: string): JoinAnswer {
    const answer = joinAnswerSchema.safeParse(said);
    if (!answer.success) throw badAnswer("it is none");
    const { node_id: id, admission } = answer.data;
    const [vouch] = admission;
    if (id !== own.id || vouch === undefined || idOf(vouch.public_key) !== host)
      throw badAnswer("another node has countersigned, or for another one");
    if (!isChainGenuine(ownKey(own), admission, rootOf(ownKey(own), admission)))
      throw badAnswer("the countersignature does not hold");
    return answer.data;
  }
}

const WORDS: ReadonlyMap<Standing, string> = new Map([
  ["waiting", "not countersigned yet by the other nodes of its database"],
  ["left", "a node that has left its mesh"],
  ["revoked", "revoked"],
]);

function invalidToken(): RuntimeError {
  return new RuntimeError(
    "RUNTIME_UNAUTHORIZED",
    "The token for joining is not valid: it was used, its hour is over, or another mesh made it.",
    { hint: NEW_TOKEN },
  );
}

function badAnswer(why: string): RuntimeError {
  return new RuntimeError("RUNTIME_INTERNAL", `The answer to the request to join cannot be used: ${why}.`);
}
