/**
 * Node's options for processes that open the embedded store for seconds: optimizing its WebAssembly would take a fifth of their time of
 * the processor.
 */
export const QUICK_START: readonly string[] = ["--liftoff-only"];
