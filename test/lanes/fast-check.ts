/**
 * What tests get as `fast-check` (vitest.config.ts). Every run of the test command tries properties with the same examples,
 * the nightly one with others each time: CAIRN_TEST_SEED is a whole number, or `random`. A failure prints the seed that
 * repeats it.
 */

import fc from "../../node_modules/fast-check/lib/fast-check.js";

const USUAL_SEED = 20_260_101;
const seed = process.env.CAIRN_TEST_SEED;

if (seed !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed ?? USUAL_SEED) });

export default fc;
