/** The address of a helper's page; its slashes stay, as they may in a query. */
export function addressOf(id: string): string {
  return `/?helper=${id}`;
}
