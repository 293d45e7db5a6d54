/** A real node for benches: the built service as a process of its own, and a client of the route that streams. */

import { Agent, request } from "node:http";
import {
  createDeployment,
  type Deployment,
  type NodeProcess,
  startNode,
  TOKEN,
} from "../../test/support/node-process.ts";
import type { BenchContext } from "./bench.ts";

export type Backend = "postgres" | "embedded";

export const BACKENDS: readonly Backend[] = ["postgres", "embedded"];

/** A deployment directory with one agent, `main`, over the model server, and a new, empty store of this backend. */
export async function deploy(context: BenchContext, backend: Backend, modelUrl: string): Promise<Deployment> {
  const memory = backend === "postgres" ? { postgres: { connection_string: await context.postgres() } } : {};
  const deployment = await createDeployment({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: modelUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory,
    },
  });
  context.defer(() => deployment.remove());
  return deployment;
}

/** Runs work with a node that is ready, and ends the node. */
export async function withNode<T>(deployment: Deployment, work: (node: NodeProcess) => Promise<T>): Promise<T> {
  const node = await startNode(deployment);
  try {
    return await work(node);
  } finally {
    await endNode(node);
  }
}

export async function endNode(node: NodeProcess): Promise<void> {
  node.signal("SIGTERM");
  await node.exited;
}

/** One connection for each turn that is under way, kept for the next. */
export class TurnClient {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: URL;
  readonly #signal: AbortSignal;

  constructor(node: NodeProcess, signal: AbortSignal) {
    this.#url = new URL("/api/agents/main/messages", node.url);
    this.#signal = signal;
  }

  /** Sends a message and reads the stream to its end; milliseconds from sending to the first text of the reply. */
  async firstText(session: string, text: string): Promise<number> {
    return (await this.#turn(session, text)).firstMs;
  }

  /** The same to the event that ends the turn. */
  async wholeReply(session: string, text: string): Promise<number> {
    return (await this.#turn(session, text)).wholeMs;
  }

  #turn(session: string, text: string): Promise<{ readonly firstMs: number; readonly wholeMs: number }> {
    const body = JSON.stringify({ session, text });
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      accept: "text/event-stream",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    return new Promise((resolve, reject) => {
      const sent = performance.now();
      const options = { method: "POST", agent: this.#agent, signal: this.#signal, headers };
      const outgoing = request(this.#url, options, (response) => {
        let seen = "";
        let first: number | undefined;
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          seen += chunk;
          if (first === undefined && seen.includes("event: text.delta\n")) first = performance.now() - sent;
        });
        response.once("error", reject);
        response.once("end", () => {
          const wholeMs = performance.now() - sent;
          if (first !== undefined && seen.includes("event: turn.finished\n")) resolve({ firstMs: first, wholeMs });
          else reject(new Error(`The turn has no reply:\n${seen}`));
        });
      });
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** What a person might write: a few words of many, so that memory finds some of the earlier messages and not all of them. */
export function messageText(n: number): string {
  const pick = (list: readonly string[], salt: number) =>
    list[(n * 7919 + salt * 104_729 + (n >> 3) * salt) % list.length];
  return (
    `${pick(OPENINGS, 1)} the ${pick(THINGS, 2)} near the ${pick(PLACES, 3)}, it was ${pick(STATES, 4)} on ${pick(DAYS, 5)}; ` +
    `${pick(PEOPLE, 6)} thinks of the ${pick(THINGS, 7)} and of number ${n}.`
  );
}

const OPENINGS = ["Please note", "Do you remember", "I have looked at", "Can somebody repair", "We should talk about"];
const THINGS = (
  "backup pump valve rota invoice router kitchen ladder boiler printer contract garden engine filter battery curtain " +
  "antenna bicycle freezer keyboard lantern mirror notebook oven painting quilt radio saddle table umbrella violin wagon"
).split(" ");
const PLACES = (
  "harbour cellar office bridge station market library church orchard workshop balcony corridor quarry lighthouse " +
  "meadow barn attic pharmacy bakery theatre"
).split(" ");
const STATES = "checked broken painted moved sold cleaned borrowed measured replaced delivered".split(" ");
const DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ");
const PEOPLE = "Ada Boris Chandra Dolores Emil Farida Gustav Hanna Igor Jelena Kofi Lucia Mehmet Nadia".split(" ");
