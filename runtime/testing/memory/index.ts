/** Checks of the memory's contract, as `cairn-agents/testing/memory` (docs/plugins.md), with the contract that they check. */

export type {
  ContextOptions,
  HistoryEntry,
  Memory,
  MemoryEntry,
  MemoryHit,
  SearchOptions,
} from "../../contracts/memory.ts";
export type { ConformanceCheck } from "../check.ts";
export { type MemoryHarness, memoryConformance, type OpenMemory, type SaidInTurns } from "./conformance.ts";
