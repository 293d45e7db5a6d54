/** Quantities of Kubernetes, such as `10Gi`, `1500M` or `1e9`, to and from bytes. */

const SUFFIXES: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};
const BINARY = ["Pi", "Ti", "Gi", "Mi", "Ki"] as const;

/** Null for what is no quantity of storage or memory. */
export function quantityBytes(text: string): number | null {
  const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([kMGTP]|[KMGTP]i)?$/.exec(text) ?? [];
  const factor = SUFFIXES[suffix];
  return digits === "" || factor === undefined ? null : Number(digits) * factor;
}

/** In the largest unit that leaves a whole number, as the API server would write it. Parts of a byte are rounded up. */
export function quantityText(bytes: number): string {
  const whole = Math.ceil(bytes);
  const suffix = BINARY.find((unit) => whole >= (SUFFIXES[unit] ?? 1) && whole % (SUFFIXES[unit] ?? 1) === 0);
  return suffix === undefined ? String(whole) : `${whole / (SUFFIXES[suffix] ?? 1)}${suffix}`;
}
