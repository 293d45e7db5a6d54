/** Search path of the programs that make a sandbox. Fixed: a PATH may name a directory that others write to. */
const FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/** The first that can be executed is used. */
export function placesOf(program: string): readonly string[] {
  return FOLDERS.map((folder) => `${folder}/${program}`);
}
