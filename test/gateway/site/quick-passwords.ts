/** Imported for its effect: cheap password hashes in this process; less than the full cost asked for fails. */
import crypto, { type ScryptOptions } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Scrypt = (
  ...given: [string, string, number, ScryptOptions, (error: Error | null, key: Buffer) => void]
) => void;

const { scrypt } = crypto as { scrypt: Scrypt };
const quick: Scrypt = (password, salt, length, options, done) => {
  const { N = 0, r = 0 } = options;
  if (N < 16_384 || r < 16) throw new Error(`a password is hashed at the cost of N ${N} and r ${r}`);
  scrypt(password, salt, length, { ...options, N: 2 }, done);
};
use(quick);

function use(scrypt: Scrypt): void {
  Object.assign(crypto, { scrypt });
  syncBuiltinESMExports();
}

/** Does something at the full cost, as with a hash that a gateway made. */
export async function atFullCost<T>(work: () => Promise<T>): Promise<T> {
  use(scrypt);
  try {
    return await work();
  } finally {
    use(quick);
  }
}
