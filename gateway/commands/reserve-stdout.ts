/**
 * From now on what is printed goes to standard error: plugins print while they are imported, and standard output is to hold
 * the result alone. Gives how to write there all the same.
 */
export function reserveStdout(): { write(data: string | Uint8Array): unknown; isTTY: boolean } {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return { write: (data) => write(data), isTTY: stdout.isTTY };
}
