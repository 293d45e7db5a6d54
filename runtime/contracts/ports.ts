/** Inputs that would otherwise be ambient: time, identifiers, logging. Handed over by the composition root. */

export interface Clock {
  now(): Date;
  /** Milliseconds of a clock that never goes back. */
  monotonic(): number;
}

export type NewId = () => string;

/** The part of pino that the code uses. The first argument's fields are redacted by the logger's own rules. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(bindings: object): Logger;
}
