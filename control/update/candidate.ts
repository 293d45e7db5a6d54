/** What an update goes to, and how its folder is filled: from the source tree, or from an archive that was built elsewhere. */

import type { JournalEntry } from "./journal.ts";

export interface Candidate {
  readonly source: JournalEntry["source"];
  readonly to: JournalEntry["to"];
  /** Folder of the build; it need not be there yet. */
  readonly stage: string;
  /** What becomes of the source tree at the end. */
  readonly move: JournalEntry["move"];
  /** The three steps that fill the folder, in order. */
  stageIt(): Promise<void>;
  packages(): Promise<void>;
  build(): Promise<void>;
}
