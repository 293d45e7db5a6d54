/** What storing one message costs: lock, dedupe check, rows, commit. */

import { join } from "node:path";
import { v7 as newId } from "uuid";
import { migrate } from "../runtime/app/migrate.ts";
import { createWriter } from "../runtime/app/transcript/writer.ts";
import type { Database } from "../runtime/contracts/database.ts";
import { openEmbedded } from "../runtime/plugins/memory/embedded/index.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../test/support/databases.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { messageText } from "./support/node.ts";

const SESSION = "main:agent:bench";
const WARM_UP = 100;
const TIMES = 500;

export const bench: Bench = {
  about: "one message through the writer, on disk when it is done, one after the other",
  async run(context) {
    const postgres = await openPostgres({ connectionString: await context.postgres(), pool: 4, logger: quietLogger });
    await onPostgres(context, await prepared(context, postgres));
    const embedded = await openEmbedded({ path: join(await context.folder(), "store"), logger: quietLogger });
    await onEmbedded(context, await prepared(context, embedded));
  },
};

async function prepared(context: BenchContext, database: Database): Promise<Database> {
  context.defer(() => database.close());
  await migrate(database, { directory: MIGRATIONS });
  return database;
}

/** Beside it a bare INSERT into the same table with the same indexes: what the disk and the table cost without us. */
async function onPostgres(context: BenchContext, database: Database): Promise<void> {
  const append = appender(database);
  const conversation = await append(0);
  await context.compare(
    { name: "append, postgres", times: TIMES, warmUp: WARM_UP },
    {
      a: {
        name: "through the writer",
        goal: { of: "p50", atMost: 2.5 },
        once: async (n) => void (await append(n + 1)),
      },
      b: {
        name: "bare INSERT",
        once: async (n) =>
          void (await database.query(
            `insert into messages (id, conversation_id, agent, channel, role, content, metadata, created_at)
             values ($1, $2, 'main', 'agent', 'user', $3, '{}', now())`,
            [newId(), conversation, messageText(n)],
          )),
      },
    },
  );
}

async function onEmbedded(context: BenchContext, database: Database): Promise<void> {
  const append = appender(database);
  for (let n = 0; n < WARM_UP; n += 1) await append(n);
  context.begin();
  const started = performance.now();
  for (let n = 0; n < TIMES; n += 1) await append(WARM_UP + n);
  const perSecond = TIMES / ((performance.now() - started) / 1_000);
  context.value({ name: "durable appends, embedded", unit: "1/s", goal: { of: "value", atLeast: 100 } }, perSecond);
}

/** Appends the nth message; answers its conversation. */
function appender(database: Database): (n: number) => Promise<string> {
  const clock = { now: () => new Date(), monotonic: () => performance.now() };
  const writer = createWriter({ database, newId, clock });
  return async (n) => {
    const entry = { role: "user" as const, content: messageText(n), key: `bench:${n}`, cap: true };
    const batch = { sessionKey: SESSION, agent: "main", openedBy: "turn" as const, channel: "agent", entries: [entry] };
    return (await writer.write(batch)).conversationId;
  };
}
