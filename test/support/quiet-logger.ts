import type { Logger } from "../../runtime/contracts/ports.ts";

/** A logger that says nothing. */
export const quietLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => quietLogger,
};
