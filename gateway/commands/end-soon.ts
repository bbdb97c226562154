/** Milliseconds after which the process ends whatever is still open. */
const lingerMs = 1_000;

/** For commands that have loaded plugins: one may keep something open for ever, such as a timer or a connection; nobody closes it here. */
export function endSoon(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}
