/** What the bench asks of another memory system; each has a file of its own here. */

export interface PeerRow {
  readonly id: string;
  /** What the questions call it. */
  readonly turn: string;
  /** Whose memory it is: searches stay inside. */
  readonly group: string;
  readonly session: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly at: Date;
}

export interface PeerQuestion {
  readonly group: string;
  /** A session of the group; some systems want to know where the question is asked. */
  readonly session: string;
  readonly query: string;
  readonly limit: number;
}

export interface Peer {
  /** Resolves once the row is stored and can be found. */
  add(row: PeerRow): Promise<void>;
  /** Ids of the rows that were found, best first as far as the system orders them. */
  search(question: PeerQuestion): Promise<string[]>;
  close(): Promise<void>;
}

export type OpenPeer = (options: {
  /** A database of its own, with the extension `vector`. */
  readonly connectionString: string;
  /** Base of an OpenAI-style embeddings route. */
  readonly embeddingsUrl: string;
  readonly model: string;
  readonly dimensions: number;
}) => Promise<Peer>;
