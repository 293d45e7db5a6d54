declare module "fs-native-extensions" {
  /** True when the operating system gave the whole file's lock to this open file; it holds until that is closed. */
  export function tryLock(fd: number, options?: { readonly shared?: boolean }): boolean;
  export function unlock(fd: number): void;
}
