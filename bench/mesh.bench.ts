/**
 * What a mesh of many nodes costs one of them: heartbeats, merging and its look into the store, over a real store, with the tokens
 * and the JSON of the requests; and how news and beats travel, simulated. `--nodes NUMBER`, default 500.
 */

import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { createGossip } from "../runtime/app/mesh/gossip.ts";
import { createMeshStore } from "../runtime/app/mesh/mesh-store.ts";
import { createMeshView } from "../runtime/app/mesh/mesh-view.ts";
import { migrate } from "../runtime/app/migrate.ts";
import type { Database } from "../runtime/contracts/database.ts";
import type { DigestRow, MeshRecord } from "../runtime/contracts/membership.ts";
import { admit, spkiOf } from "../runtime/domain/mesh/admission.ts";
import { chooseMembers, fanout } from "../runtime/domain/mesh/gossip.ts";
import { HEARTBEAT_MS, LivenessTable } from "../runtime/domain/mesh/liveness.ts";
import { nodeIdOf } from "../runtime/domain/mesh/node-entry.ts";
import { makePeerToken, verifyPeerToken } from "../runtime/domain/mesh/peer-token.ts";
import { gossipSchema } from "../runtime/files/mesh-schema.ts";
import { openEmbedded } from "../runtime/plugins/memory/embedded/index.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../test/support/databases.ts";
import { entryOf } from "../test/support/node-entries.ts";
import type { Bench, BenchContext } from "./support/bench.ts";

const NODES = 500;
const ROUNDS = 40;
const SIMULATED_ROUNDS = 60;
/** Of these beats nobody has heard yet all; then a mesh is as it always is. */
const WARM_UP = 20;

export const bench: Bench = {
  about: "what a node of a large mesh does in its heartbeats, and how far its news get",
  async run(context) {
    const nodes = Number(context.option("nodes") ?? NODES);
    const embedded = await openEmbedded({ path: join(await context.folder(), "store"), logger: quietLogger });
    await cost(context, "embedded", await prepared(context, embedded), nodes);
    const postgres = await openPostgres({ connectionString: await context.postgres(), pool: 4, logger: quietLogger });
    await cost(context, "postgres", await prepared(context, postgres), nodes);
    simulate(context, nodes);
  },
};

async function prepared(context: BenchContext, database: Database): Promise<Database> {
  context.defer(() => database.close());
  await migrate(database, { directory: MIGRATIONS });
  return database;
}

/** Each round: a look into the store, its own exchanges, and as many that others begin. */
async function cost(context: BenchContext, backend: string, database: Database, nodes: number): Promise<void> {
  const own = withId(generateKeyPairSync("ed25519"));
  const records = Array.from({ length: nodes - 1 }, (_, index): MeshRecord => {
    const keys = generateKeyPairSync("ed25519");
    const entry = entryOf(keys, {
      name: `node-${index}`,
      address: `https://node-${index}.example.org:7433`,
      certificate_sha256: Array.from({ length: 32 }, () => "AB").join(":"),
      made_at: new Date().toISOString(),
    });
    return { entry, admission: admit(spkiOf(keys.publicKey), own, []) };
  });
  const clock = { now: () => new Date(), monotonic: () => performance.now() };
  const liveness = new LivenessTable();
  const store = createMeshStore({ database, logger: quietLogger });
  const view = createMeshView({ store, own, liveness, clock, logger: quietLogger });
  await database.query(
    "insert into leases (name, holder, expires_at, data) values ($1, 'boot', now() + interval '1 hour', '{}')",
    [`node:${own.id}`],
  );
  const entry = entryOf(own, { name: "own", made_at: new Date().toISOString() });
  await database.query("insert into nodes (id, version, entry) values ($1, 1, $2::jsonb)", [
    own.id,
    JSON.stringify(entry),
  ]);
  await view.reconcile();
  await view.save({ records, revocations: [], removed: [] });

  // As they arrive: made before, so that only what this node does is measured.
  const said = Array.from({ length: ROUNDS + 5 }, (_, beat) => {
    const digest: DigestRow[] = [[own.id, 1, 0], ...records.map((record): DigestRow => [record.entry.id, 1, beat + 1])];
    return JSON.stringify({ digest, revoked: [], records: [], revocations: [] });
  });
  let beat = 0;
  let exchanges = 0;
  const peer = generateKeyPairSync("ed25519");
  const peerId = nodeIdOf(peer.publicKey);
  const request = { audience: own.id, method: "POST", path: "/api/mesh/gossip" };
  const gossip = createGossip({
    view,
    own: own.id,
    liveness,
    seeds: [],
    foundAt: () => null,
    clock,
    random: Math.random,
    logger: quietLogger,
    onBehind: async () => undefined,
    calls: {
      async gossip(to, _url, body) {
        exchanges += 1;
        await makePeerToken({ ...request, audience: to.id }, own, "0", new Date());
        JSON.stringify(body);
        return JSON.parse(said[beat] ?? "");
      },
      certificateAt: async () => "",
      join: async () => null,
      revocation: async () => null,
    },
  });
  const signal = context.signal;
  const round = async (): Promise<void> => {
    await view.reconcile();
    await gossip.round(signal);
    for (let answered = 0; answered < fanout(nodes - 1); answered += 1) {
      await verifyPeerToken(
        tokens[answered] ?? "",
        { id: peerId, public_key: spkiOf(peer.publicKey) },
        request,
        new Date(),
      );
      JSON.stringify(await gossip.answer(gossipSchema.parse(JSON.parse(said[beat] ?? ""))));
    }
    beat += 1;
  };
  const tokens = await Promise.all(
    Array.from({ length: fanout(nodes - 1) }, (_, index) =>
      makePeerToken(request, { id: peerId, privateKey: peer.privateKey }, String(index), new Date()),
    ),
  );
  for (let warm = 0; warm < 5; warm += 1) await round();
  context.begin();
  exchanges = 0;
  const before = process.cpuUsage();
  for (let n = 0; n < ROUNDS; n += 1) await round();
  const { user, system } = process.cpuUsage(before);
  const msOfRound = (user + system) / 1000 / ROUNDS;
  context.value({ name: `${nodes} nodes, ${backend}: processor time of a heartbeat`, unit: "ms" }, msOfRound);
  context.value(
    { name: `${nodes} nodes, ${backend}: share of a core`, unit: "%", goal: { of: "value", atMost: 1 } },
    (msOfRound / HEARTBEAT_MS) * 100,
  );
  context.value({ name: `${nodes} nodes: exchanges that a heartbeat begins`, unit: "" }, exchanges / ROUNDS);
  context.value({ name: `${nodes} nodes: bytes of a message`, unit: "kB" }, (said[0]?.length ?? 0) / 1000);
}

function withId(keys: ReturnType<typeof generateKeyPairSync>) {
  return { id: nodeIdOf(keys.publicKey), ...keys };
}

/** Each node has a table of the others' beats; all begin at another moment of the heartbeat. */
function simulate(context: BenchContext, nodes: number): void {
  const tables = Array.from({ length: nodes }, () => new LivenessTable());
  const beats = new Int32Array(nodes);
  const heard = Array.from({ length: nodes }, () => new Int32Array(nodes));
  const ids = Array.from({ length: nodes }, (_, index) => String(index));
  const starts = ids.map(() => Math.random() * HEARTBEAT_MS).sort((a, b) => a - b);
  const random = Math.random;
  let wrongs = 0;
  let observations = 0;
  /** Rounds until all know what one knew; the news are that of the node 0 after the warm-up. */
  const informed = new Uint8Array(nodes);
  let newsAt = Number.NaN;
  let newsTook = Number.NaN;
  const exchange = (from: number, to: number, now: number): void => {
    const [source, target, table] = [heard[from], heard[to], tables[to]];
    if (!source || !target || !table) return;
    for (let of = 0; of < nodes; of += 1) {
      const latest = of === from ? (beats[of] ?? 0) : (source[of] ?? 0);
      if (of === to || latest <= (target[of] ?? 0)) continue;
      target[of] = latest;
      table.hear([ids[of] ?? "", 1, latest], now);
    }
    if (informed[from] === 1) informed[to] = 1;
  };
  context.begin();
  for (let round = 0; round < SIMULATED_ROUNDS; round += 1) {
    for (let node = 0; node < nodes; node += 1) {
      const now = round * HEARTBEAT_MS + (starts[node] ?? 0);
      beats[node] = (beats[node] ?? 0) + 1;
      const table = tables[node];
      if (!table) continue;
      if (round === WARM_UP && node === 0) {
        informed[0] = 1;
        newsAt = now;
      }
      const candidates = ids.flatMap((id, other) =>
        other === node ? [] : [{ id, liveness: round === 0 ? ("alive" as const) : table.stateOf(id, now) }],
      );
      if (round > WARM_UP) {
        observations += candidates.length;
        wrongs += candidates.filter(({ liveness }) => liveness !== "alive").length;
      }
      for (const id of chooseMembers(candidates, random)) {
        exchange(node, Number(id), now);
        exchange(Number(id), node, now);
      }
      if (Number.isNaN(newsTook) && informed.every((one) => one === 1)) newsTook = (now - newsAt) / 1000;
    }
  }
  context.value(
    { name: `${nodes} nodes, simulated: until all know of a change`, unit: "s", goal: { of: "value", atMost: 60 } },
    newsTook,
  );
  context.value(
    {
      name: `${nodes} nodes, simulated: living nodes that look suspect`,
      unit: "ppm",
      goal: { of: "value", atMost: 10 },
    },
    (wrongs / Math.max(1, observations)) * 1_000_000,
  );
}
