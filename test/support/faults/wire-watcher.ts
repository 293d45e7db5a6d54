/**
 * Reads a conversation in PostgreSQL's protocol from both sides and tells when a marked statement is about to be sent, and
 * when what it did has been committed and the answer is about to arrive. Statements of the turn code carry their names as
 * comments (`turn:claim`), which is what marks them.
 */

export interface KillPoint {
  /** Part of the statement's text; `a>b` is a `b` after the first `a`. */
  readonly statement: string;
  /** 1 for its first execution since the point was armed. */
  readonly nth: number;
  /** Before the statement reaches the server, or after its commit, before the client hears of it. */
  readonly when: "before" | "after";
}

export function parseKillPoint(text: string): KillPoint {
  const match = /^(.+)#(\d+)@(before|after)$/.exec(text);
  if (!match) throw new Error(`no kill point: ${text}`);
  return { statement: match[1] ?? "", nth: Number(match[2]), when: match[3] === "before" ? "before" : "after" };
}

export function formatKillPoint({ statement, nth, when }: KillPoint): string {
  return `${statement}#${nth}@${when}`;
}

/** A kill point in wait; shared by all connections of a process. */
export class Trap {
  readonly #point: KillPoint;
  readonly #strike: () => void;
  #seen = 0;
  #gateOpen: boolean;

  constructor(point: KillPoint, strike: () => void) {
    this.#point = point;
    this.#strike = strike;
    this.#gateOpen = !point.statement.includes(">");
  }

  /** True when the statement is the one whose commit is to be struck. */
  sent(text: string): boolean {
    const [gate = "", target = gate] = this.#point.statement.split(">");
    const counts = this.#gateOpen && text.includes(target);
    this.#gateOpen ||= text.includes(gate);
    if (!counts || ++this.#seen !== this.#point.nth) return false;
    if (this.#point.when === "before") this.#strike();
    return this.#point.when === "after";
  }

  committed(): void {
    this.#strike();
  }
}

export class WireWatcher {
  readonly #trap: () => Trap | null;
  readonly #statements = new Map<string, string>();
  #fromClient = Buffer.alloc(0);
  #fromServer = Buffer.alloc(0);
  #started = false;
  /** Whether the marked statement stands in what was sent since the last Sync; one entry for each answer awaited. */
  #marked = false;
  readonly #awaited: boolean[] = [];
  #committing = false;

  constructor(trap: () => Trap | null) {
    this.#trap = trap;
  }

  /** From when the statement whose commit is to be struck was sent, until the answer that tells of the commit. */
  get strikesNext(): boolean {
    return this.#marked || this.#committing || this.#awaited.includes(true);
  }

  client(bytes: Uint8Array): void {
    this.#fromClient = Buffer.concat([this.#fromClient, bytes]);
    for (;;) {
      if (!this.#started) {
        if (this.#fromClient.length < 4) return;
        const length = this.#fromClient.readInt32BE(0);
        if (this.#fromClient.length < length) return;
        this.#started = this.#fromClient.readInt32BE(4) === 196_608;
        this.#fromClient = this.#fromClient.subarray(length);
        continue;
      }
      if (this.#fromClient.length < 5) return;
      const length = 1 + this.#fromClient.readInt32BE(1);
      if (this.#fromClient.length < length) return;
      this.#clientMessage(String.fromCharCode(this.#fromClient[0] ?? 0), this.#fromClient.subarray(5, length));
      this.#fromClient = this.#fromClient.subarray(length);
    }
  }

  server(bytes: Uint8Array): void {
    this.#fromServer = Buffer.concat([this.#fromServer, bytes]);
    for (;;) {
      if (this.#fromServer.length < 5) return;
      const length = 1 + this.#fromServer.readInt32BE(1);
      if (this.#fromServer.length < length) return;
      const type = String.fromCharCode(this.#fromServer[0] ?? 0);
      if (type === "Z") this.#readyForQuery(String.fromCharCode(this.#fromServer[5] ?? 0));
      this.#fromServer = this.#fromServer.subarray(length);
    }
  }

  #clientMessage(type: string, body: Buffer): void {
    if (type === "P") {
      const [name = "", text = ""] = texts(body);
      this.#statements.set(name, text);
    } else if (type === "B") {
      const [, name = ""] = texts(body);
      this.#execute(this.#statements.get(name) ?? "");
    } else if (type === "Q") {
      this.#execute(texts(body)[0] ?? "");
      this.#sync();
    } else if (type === "S") this.#sync();
  }

  #execute(statement: string): void {
    if (this.#trap()?.sent(statement)) this.#marked = true;
  }

  #sync(): void {
    this.#awaited.push(this.#marked);
    this.#marked = false;
  }

  #readyForQuery(status: string): void {
    this.#committing ||= this.#awaited.shift() === true;
    // Idle: nothing is open any more, so that the marked statement is committed.
    if (this.#committing && status === "I") this.#trap()?.committed();
  }
}

/** The first two zero-terminated texts of a message. */
function texts(body: Buffer): string[] {
  const first = body.indexOf(0);
  const second = body.indexOf(0, first + 1);
  return [body.toString("utf8", 0, first), body.toString("utf8", first + 1, second)];
}
