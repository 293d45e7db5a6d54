/** Why a check is skipped: what it needs is not available, and another check reports why. */

/** The message is a sentence; the runner makes a skip of it. `see`: ids of the checks that report the reason, the nearest first. */
export class Unavailable extends Error {
  readonly see: readonly string[];

  constructor(sentence: string, see: readonly string[] = []) {
    super(see.length === 0 ? sentence : `${sentence.replace(/[.]$/, "")} (see ${see.join(", ")}).`);
    this.name = "Unavailable";
    this.see = see;
  }
}

/** What was asked had begun to answer, and was not done in time. The runner makes one statement of all that was late. */
export class TimedOut extends Error {
  /** The check that is about what was asked: where that one has a problem, this follows from it. */
  readonly see: string;

  constructor(see: string) {
    super("It does not answer in time.");
    this.name = "TimedOut";
    this.see = see;
  }
}
