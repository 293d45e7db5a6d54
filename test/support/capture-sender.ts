/**
 * A process with a capture client of its own: sends batches of one event, in turn to a session that is its own and to one
 * that all share, then replays until nothing waits. Prints what its client called a problem.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { createCaptureClient } from "../../runtime/client/index.ts";

const [baseUrl, spoolDirectory, name, count] = process.argv.slice(2);
if (!baseUrl || !spoolDirectory || !name || !count) throw new Error("usage: capture-sender.ts URL SPOOL NAME COUNT");

const client = createCaptureClient({
  baseUrl,
  spoolDirectory,
  token: "t",
  onProblem: (problem) => console.log(JSON.stringify(problem)),
});
/** Takes a while to write, so that another process may come upon it in the middle. */
const long = "x".repeat(150_000);
for (let n = 0; n < Number(count); n += 1) {
  const events = [{ event_id: `${name}/${n}`, role: "user", content: `${name} says ${n}: ${long}` } as const];
  const session_key = n % 2 === 0 ? name : "shared";
  await client.send({ session_key, agent: "claude-code", channel: "claude-code", events });
}
while ((await client.replay()).waiting > 0) await sleep(5);
