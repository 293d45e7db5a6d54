/** The process is killed at every step of a turn, also of one that waits for an answer, on both backends. */

import { describeKills, STEPS } from "../support/faults/killed-turns.ts";
import { describeKilledWaits, WAIT_STEPS } from "../support/faults/killed-waits.ts";

describeKills(STEPS);
describeKilledWaits(WAIT_STEPS);
