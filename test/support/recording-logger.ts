/** A logger whose lines a test can read, with all that is in what was logged. */

import { inspect } from "node:util";
import type { Logger } from "../../runtime/contracts/ports.ts";

export function recordingLogger(lines: string[]): Logger {
  const write = (bindings: object, message: string): void => {
    lines.push(`${message} ${inspect(bindings, { depth: 12, showHidden: true })}`);
  };
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return logger;
}
