/** A person's side of a channel: what they do, what the platform can do to the node, and what they see in the end. */

import type { NodeProcess } from "../node-process.ts";

export interface Shown {
  readonly by: "person" | "agent";
  readonly text: string;
  /** A command, or what was answered to it. */
  readonly isCommand: boolean;
}

export interface ChatSide {
  /** Keys of the configuration beside those of every node. */
  readonly config: { readonly channels?: object };
  readonly env: Readonly<Record<string, string>>;
  /** Which node answers from now on. */
  attach(node: NodeProcess): Promise<void>;
  /** Resolves when the message is on its way, behind those before. */
  say(text: string, file?: string): Promise<void>;
  /** Absent where there are none. */
  command?(line: string): Promise<void>;
  /** Of what was said last. Absent where nothing can be changed. */
  edit?(text: string): void;
  remove?(): void;
  stop(): Promise<void>;
  /** Chooses at the question that stands last. */
  choose(choice: string): Promise<void>;
  /** Refuses what is sent within the next second. */
  limit(): void;
  /** Connections break, and none is made. */
  drop(): void;
  restore(): void;
  /** The words of a reply where the platform shows it otherwise than it was written. */
  rendered?(reply: string): string;
  /** All that the chat shows now, in its order. */
  shown(): readonly Shown[];
}
