/** Names that Docker alone needs. Apart from the components, so that commands that only read need not load Pulumi. */

/** The container that lends its files to another. A node's name has no dot, so no node's container is called like this. */
export function filesContainer(container: string): string {
  return `${container}.files`;
}
