/**
 * Writes seccomp filters: small programs (classic BPF) that the kernel runs at each system call of a process and its
 * children. Little-endian, as every machine is that Node runs on.
 */

/**
 * Compares the low 32 bits of an argument, which are all of it for process ids, modes, flags and address families; `high`: the
 * other 32, for pointers.
 */
export type Condition =
  | { readonly argument: number; readonly anyBit: number }
  | { readonly argument: number; readonly mask?: number; readonly oneOf: readonly number[] }
  | { readonly argument: number; readonly high?: true; readonly noneOf: readonly number[] };

export interface Denial {
  /** System call numbers. */
  readonly calls: readonly number[];
  /** The error that the caller sees. */
  readonly errno: number;
  /** All must hold; always denied when left out. */
  readonly when?: readonly Condition[];
}

export interface FilterProgram {
  /** AUDIT_ARCH_*: a call of another architecture ends the process, because its numbers mean something else. */
  readonly architecture: number;
  /** Numbers from here on belong to another calling convention (x32) and do not exist. */
  readonly firstForeignCall: number;
  readonly denials: readonly Denial[];
}

export const ENOSYS = 38;

const LOAD = 0x20;
const JUMP = 0x05;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_OR_EQUAL = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;

const KILL_PROCESS = 0x80000000;
const ERROR = 0x00050000;
const ALLOW = 0x7fff0000;

const CALL_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;
const ARGUMENT_BYTES = 8;
const HALF_BYTES = 4;
const INSTRUCTION_BYTES = 8;

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** Instructions to skip when the comparison holds, and when it does not. */
  readonly whenTrue?: number;
  readonly whenFalse?: number;
}

/** Pure. What no denial matches is allowed; the first that matches decides. */
export function assembleFilter(program: FilterProgram): Buffer {
  const instructions: Instruction[] = [
    { code: LOAD, value: ARCHITECTURE_OFFSET },
    { code: JUMP_EQUAL, value: program.architecture, whenTrue: 1 },
    { code: RETURN, value: KILL_PROCESS },
    { code: LOAD, value: CALL_OFFSET },
    { code: JUMP_GREATER_OR_EQUAL, value: program.firstForeignCall, whenFalse: 1 },
    { code: RETURN, value: ERROR + ENOSYS },
    ...program.denials.flatMap(denialCode),
    { code: RETURN, value: ALLOW },
  ];
  const bytes = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  for (const [at, { code, value, whenTrue = 0, whenFalse = 0 }] of instructions.entries()) {
    bytes.writeUInt16LE(code, at * INSTRUCTION_BYTES);
    bytes.writeUInt8(whenTrue, at * INSTRUCTION_BYTES + 2);
    bytes.writeUInt8(whenFalse, at * INSTRUCTION_BYTES + 3);
    bytes.writeUInt32LE(value >>> 0, at * INSTRUCTION_BYTES + 4);
  }
  return bytes;
}

/**
 * Conditional jumps reach 255 instructions, plain ones any number. So every comparison skips over at most one plain jump,
 * and lists may have any length. Expects the call's number to be loaded, and leaves it loaded.
 */
function denialCode({ calls, errno, when = [] }: Denial): Instruction[] {
  let body: Instruction[] = [{ code: RETURN, value: ERROR + errno }];
  for (const condition of when.toReversed()) body = [...conditionCode(condition, body.length), ...body];
  const reload: Instruction[] = when.length > 0 ? [{ code: LOAD, value: CALL_OFFSET }] : [];
  return [...jumpUnlessAny(calls, body.length), ...body, ...reload];
}

/** Falls through to the `rest` instructions after it when the condition holds, and skips them when it does not. */
function conditionCode(condition: Condition, rest: number): Instruction[] {
  const half = "high" in condition && condition.high ? HALF_BYTES : 0;
  const load: Instruction = { code: LOAD, value: ARGUMENTS_OFFSET + condition.argument * ARGUMENT_BYTES + half };
  if ("anyBit" in condition) {
    return [load, { code: JUMP_ANY_BIT, value: condition.anyBit, whenTrue: 1 }, { code: JUMP, value: rest }];
  }
  if ("noneOf" in condition) {
    const values = condition.noneOf;
    const compare = values.flatMap((value, at): Instruction[] => [
      { code: JUMP_EQUAL, value, whenFalse: 1 },
      { code: JUMP, value: 2 * (values.length - at - 1) + rest },
    ]);
    return [load, ...compare];
  }
  const mask: Instruction[] = condition.mask === undefined ? [] : [{ code: AND, value: condition.mask }];
  return [load, ...mask, ...jumpUnlessAny(condition.oneOf, rest)];
}

/** Skips the next `rest` instructions unless what is loaded is one of the values. */
function jumpUnlessAny(values: readonly number[], rest: number): Instruction[] {
  const compare = values.flatMap((value, at): Instruction[] => [
    { code: JUMP_EQUAL, value, whenFalse: 1 },
    { code: JUMP, value: 2 * (values.length - at - 1) + 1 },
  ]);
  return [...compare, { code: JUMP, value: rest }];
}
