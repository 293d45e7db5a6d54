/** Why a check is skipped: what it needs is not available, and another check reports why. */

/** The message is a sentence; the runner makes a skip of it. */
export class Unavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Unavailable";
  }
}
