/** A program for tests: makes repairs and kills itself at a step of one of them. Arguments: repairs as JSON, step, number. */

import process from "node:process";
import { applyRepairs } from "../../../control/doctor/repair/apply.ts";
import type { Repair } from "../../../control/doctor/repair/repair.ts";

const [, , text = "[]", at, number] = process.argv;
const repairs: Repair[] = JSON.parse(text);
let seen = 0;
await applyRepairs(
  repairs.map((repair) => ({ check: "system.home", repair })),
  {
    signal: new AbortController().signal,
    onStep: (step) => {
      if (step !== at) return;
      if (seen === Number(number)) process.kill(process.pid, "SIGKILL");
      seen += 1;
    },
  },
);
