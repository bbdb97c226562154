/** A logger that keeps what is said above `debug`. */
export function recorder() {
  let said: string[] = [];
  const keep = (_: unknown, message?: string) => {
    said.push(message ?? '');
  };
  return {
    logger: { debug() {}, info: keep, warn: keep },
    lines: () => said,
    clear() {
      said = [];
    },
  };
}
