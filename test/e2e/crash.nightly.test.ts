/** The process is killed at every step of a turn, on both backends. */

import { describeKills, STEPS } from "../support/faults/killed-turns.ts";

describeKills(STEPS);
