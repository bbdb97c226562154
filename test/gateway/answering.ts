/** The source of a plugin that answers with this. */
export function answering(value: unknown, more = ''): string {
  const answer = JSON.stringify({ value });
  return `export default { summary: 'x', input: { type: 'object', properties: {} }, handler: () => (${answer}), ${more} };`;
}
