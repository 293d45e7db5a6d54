/** A program for tests: says a lot, and would never end by itself. */

import process from "node:process";
import { leaveWhenSaid } from "../../../control/doctor/leave.ts";

setInterval(() => undefined, 1_000);
process.exitCode = 7;
process.stdout.write("x".repeat(1_000_000));
leaveWhenSaid();
